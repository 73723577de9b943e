package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/internal/stores"
	"holdfast/internal/word"
	"holdfast/workflows"
	"holdfast/workflows/runs"
)

// leastRetention is long enough to read and reset failed runs after a weekend.
const leastRetention = 72 * time.Hour

// oldestBacklog is how long a task may wait before there are too few workers.
const oldestBacklog = time.Minute

func (d *doctor) examineTemporal(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 4*doctorTimeout)
	defer cancel()
	if d.watchTemporal(ctx) {
		d.check("clock of Temporal", func() { d.examineTemporalClock(ctx) }, temporal)
	}
}

// watchTemporal checks Temporal without starting anything. It returns false if Temporal or the namespace isn't available.
func (d *doctor) watchTemporal(ctx context.Context) bool {
	ping, stop := context.WithTimeout(ctx, doctorTimeout)
	err := stores.Ping(ping, d.temporal, d.cfg.Temporal.Namespace)
	stop()
	if err != nil {
		d.outage(temporal, temporal, err)
	}
	found := true
	d.check("namespace", func() { found = d.examineNamespace(ctx) }, temporal)
	if !found {
		return false
	}
	isEarlier := false
	d.check("earlier build", func() { isEarlier = d.examineEarlierBuild(ctx) }, temporal)
	if isEarlier {
		return false
	}
	d.check("search attributes", func() { d.examineSearchAttributes(ctx) }, temporal)
	d.check("schedules", func() { d.examineSchedules(ctx) }, temporal)
	d.check("queues", func() { d.examineQueues(ctx) }, temporal)
	d.check(checkRuns, func() { d.examineRuns(ctx) }, database, temporal)
	d.check("agreement", func() { d.examineAgreement(ctx) }, database, temporal)
	d.check("unfinished events", func() { d.examineUnfinished(ctx) }, database, temporal)
	return true
}

// examineEarlierBuild reports whether the namespace belongs to a build from before 0.9.0.
func (d *doctor) examineEarlierBuild(ctx context.Context) bool {
	err := stores.RefuseEarlierNamespace(ctx, d.temporal, d.cfg.Temporal.Namespace)
	if errors.Is(err, stores.ErrEarlierNamespace) {
		d.add("namespace", resultFail, err.Error(), "")
		return true
	}
	return false
}

func (d *doctor) examineSearchAttributes(ctx context.Context) {
	const check = "search attributes"
	if err := stores.RequireSearchAttributes(ctx, d.temporal, d.cfg.Temporal.Namespace); err != nil {
		d.failed(check, err, "run `holdfast migrate`")
		return
	}
	d.add(check, resultOK, "registered", "")
}

func (d *doctor) examineNamespace(ctx context.Context) bool {
	name := d.cfg.Temporal.Namespace
	described, err := d.temporal.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: name})
	if err != nil {
		d.failed(temporal, err, "create the namespace: temporal operator namespace create -n "+name)
		return false
	}
	info, err := d.temporal.WorkflowService().GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
	if err != nil {
		d.failed(temporal, err, "allow this client to ask for the server's version")
		return true
	}
	d.add(temporal, resultOK, "server "+info.GetServerVersion()+", namespace "+name, "")
	ofRuns := described.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()
	d.examineRetention(ofRuns)
	d.examineRetentionOfEvents(ofRuns)
	return true
}

// examineRetention compares how long Temporal keeps a run with the dedupe window. Beyond Temporal's retention the database alone
// recognizes duplicates, which it always does; it costs a run that ends as a duplicate.
func (d *doctor) examineRetention(ofRuns time.Duration) {
	catalogue, err := providersOf(d.cfg)
	if err != nil {
		return // examineProviders reports it
	}
	longer := 0
	for _, name := range catalogue.Names() {
		provider, _ := catalogue.Lookup(name)
		if window := time.Duration(provider.DedupeWindow("")); window == 0 || window > ofRuns {
			longer++
		}
	}
	detail := fmt.Sprintf("%s; %d of %d dedupe windows are longer than Temporal's retention; PostgreSQL covers the rest",
		ofRuns, longer, len(catalogue.Names()))
	d.add("retention", either(ofRuns >= leastRetention, resultWarn), detail, fmt.Sprintf(
		"runs can be read and reset for %s only: temporal operator namespace update -n %s --retention 72h", ofRuns,
		d.cfg.Temporal.Namespace))
}

// examineRetentionOfEvents reports the effective retention of events: resetting a run would restore a purged event.
func (d *doctor) examineRetentionOfEvents(ofRuns time.Duration) {
	configured, effective := stores.RetentionOfEvents(d.cfg, ofRuns)
	if configured == 0 {
		return
	}
	d.add("retention of events", either(effective == configured, resultWarn),
		fmt.Sprintf("HOLDFAST_RETENTION_EVENTS is %s, and Temporal keeps runs for %s: events stay for %s after their last run",
			configured, ofRuns, effective),
		fmt.Sprintf("set HOLDFAST_RETENTION_EVENTS=%s or more, or keep runs for less: "+
			"temporal operator namespace update -n %s --retention 72h", word.Duration(effective), d.cfg.Temporal.Namespace))
}

func (d *doctor) examineQueues(ctx context.Context) {
	queues, err := runs.Queues{Client: d.temporal, Namespace: d.cfg.Temporal.Namespace}.Read(ctx)
	if err != nil {
		d.failed("queues", err, "allow this client to describe task queues")
		return
	}
	d.judgeQueues(queues)
}

// judgeQueues reports all queues without a worker as one finding, because they have one cause.
func (d *doctor) judgeQueues(queues []oversight.QueueStats) {
	var unpolled []string
	var waiting int64
	for _, q := range queues {
		if q.WorkflowPollers+q.ActivityPollers == 0 {
			unpolled, waiting = append(unpolled, q.Queue), waiting+q.Backlog
			continue
		}
		d.examineQueue(q)
	}
	if len(unpolled) > 0 {
		d.add("queues", resultFail, fmt.Sprintf("no worker polls %s; %s", strings.Join(unpolled, ", "),
			word.Count(waiting, "task waits", "tasks wait")),
			"start a worker (`holdfast worker`). With worker versioning, also make its version the current one "+
				"(`temporal worker deployment set-current-version`)")
	}
}

// moreSlots advises twice the slots that this environment gives the workers of a queue, if they can be set.
func (d *doctor) moreSlots(queue string) string {
	w := d.cfg.Worker
	for _, of := range []struct {
		queue, variable string
		slots           int
	}{
		{workflows.Queue(event.PriorityCritical), "CRITICAL", w.SlotsCritical},
		{workflows.Queue(event.PriorityHigh), "HIGH", w.SlotsHigh},
		{workflows.Queue(event.PriorityNormal), "NORMAL", w.SlotsNormal},
		{workflows.QueueDeadLetter, "DEAD_LETTER", w.SlotsDeadLetter},
		{workflows.QueueReplay, "REPLAY", w.SlotsReplay},
		{workflows.QueueBulk, "BULK", w.SlotsBulk},
	} {
		if of.queue == queue {
			return fmt.Sprintf(", or give each more slots, such as HOLDFAST_WORKER_SLOTS_%s=%d", of.variable, 2*of.slots)
		}
	}
	return ""
}

func (d *doctor) examineQueue(q oversight.QueueStats) {
	check := "queue " + q.Queue
	detail := fmt.Sprintf("%d waiting, %s", q.Backlog, word.Count(q.WorkflowPollers+q.ActivityPollers, "poller", "pollers"))
	if age := time.Duration(q.Age); age > oldestBacklog {
		d.add(check, resultWarn, fmt.Sprintf("%s, the oldest for %s", detail, word.Age(age)), "start more workers"+d.moreSlots(q.Queue))
		return
	}
	d.add(check, resultOK, detail, "")
}

// doctorQueue has no worker.
const doctorQueue = "holdfast-doctor"

// examineTemporalClock starts a run without a worker, reads its start time by Temporal's clock, and deletes it. This also shows
// that Temporal commits.
func (d *doctor) examineTemporalClock(ctx context.Context) {
	const check = "clock of Temporal"
	begin := time.Now()
	run, err := d.temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: "doctor/" + uuid.NewString(), TaskQueue: doctorQueue, WorkflowExecutionTimeout: time.Minute,
	}, "Doctor")
	if err != nil {
		d.failed(check, err, "Temporal must be able to start workflows: look at its own store")
		return
	}
	end := time.Now()
	described, err := d.temporal.DescribeWorkflowExecution(ctx, run.GetID(), run.GetRunID())
	_, deleted := d.temporal.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace:         d.cfg.Temporal.Namespace,
		WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: run.GetID(), RunId: run.GetRunID()},
	})
	if err = errors.Join(err, deleted); err != nil {
		d.warned(check, err, "allow this client to describe and delete runs")
		return
	}
	d.examineClock(check, described.GetWorkflowExecutionInfo().GetStartTime().AsTime(), begin, end)
}
