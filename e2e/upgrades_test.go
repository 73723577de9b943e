package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	sdk "go.temporal.io/sdk/client"

	"holdfast/event"
	"holdfast/internal/devstack/program"
	"holdfast/workflows"
	"holdfast/workflows/runs"
)

// changedWorkflow waits for one more thing in the workflow of every event, without a version that distinguishes old runs from
// new ones: a worker that continues a run of the other build disagrees with its history.
var changedWorkflow = sync.OnceValues(func() (string, error) {
	path := filepath.Join(filepath.Dir(holdfast), "changed")
	return path, program.Build(context.Background(), root, path, program.Edit{
		File: "workflows/process_event.go",
		Old:  "	result, parsed, failed := process(ctx, &in)\n",
		New:  "	_ = workflow.Sleep(ctx, 20_000_000)\n	result, parsed, failed := process(ctx, &in)\n",
	})
})

// A changed workflow is rolled out under load, by the commands of docs/upgrades.md, and rolled back:
//   - runs that wait for a row when the new build becomes current are finished by the old one
//   - a canary gets some of the new runs; then the new build gets all of them; then the old one again
//   - runs that the new build has begun and can't finish are dead letters, and processed by the old one
//   - no run fails, no task of a run fails, and no run uses two builds
func TestAChangedWorkflowRollsOutUnderLoad(t *testing.T) {
	t.Parallel()
	changed, err := changedWorkflow()
	require.NoError(t, err)
	i := newInstallation(t)
	n := i.start(t, "ingress")
	i.startBuild(t, holdfast, "v1")
	require.Zero(t, i.pollers(t), "a build that is not current gets nothing")
	i.section(t, n, "The first build")
	eventually(t, time.Minute, "its workers poll", func() error { return atLeast(i.pollers(t), 1) })
	l := startPacedLoad(n, 150*time.Millisecond)
	eventually(t, time.Minute, "the first build works", func() error { return atLeast(i.count(t, processedEvents), 10) })

	waiting, release := i.sendWaiting(t, n)
	canary := i.startBuild(t, changed, "v2")
	i.section(t, n, "Canary")
	eventually(t, time.Minute, "the canary gets some", func() error { return atLeast(i.runsOf(t, builtBy("v2")), 1) })
	i.section(t, n, "Full rollout")
	release()
	eventually(t, time.Minute, "the new build works", func() error {
		return atLeast(i.runsOf(t, builtBy("v2")+" AND ExecutionStatus = 'Completed'"), 5)
	})

	stuck, release := i.sendWaiting(t, n)
	eventually(t, time.Minute, "it is listed", func() error {
		return atLeast(i.runsOf(t, builtBy("v2")+" AND WorkflowId = '"+stuck+"'"), 1)
	})
	canary.kill()
	release()
	i.section(t, n, "Roll back")
	l.stop()
	eventually(t, 2*time.Minute, "every event is processed", func() error {
		i.section(t, n, "Runs of a bad build")
		if err := atLeast(i.count(t, processedEvents), int(l.accepted.Load())+2); err != nil {
			return fmt.Errorf("%w: %s", err, i.unfinished(t))
		}
		return nil
	})
	eventually(t, time.Minute, "no run is open", func() error {
		return atLeast(-i.runsOf(t, "WorkflowType = 'ProcessEvent' AND ExecutionStatus = 'Running'"), 0)
	})

	require.Zero(t, l.other.Load())
	require.Zero(t, i.count(t, openDeadLetters))
	require.Zero(t, i.count(t, "SELECT count(*) FROM dead_letters WHERE error_code <> 'terminated'"))
	i.checkBuilds(t, waiting, stuck)
}

// unfinished describes the events that aren't processed: their runs and dead letters.
func (i *installation) unfinished(t *testing.T) string {
	t.Helper()
	var letters string
	i.query(t, `SELECT coalesce(string_agg(state || ' for ' || error_code || ' at ' || last_failed_at, ', '), 'none')
		  FROM dead_letters WHERE resolved_at IS NULL`, nil, &letters)
	running := "WorkflowType = 'ProcessEvent' AND ExecutionStatus = 'Running'"
	return fmt.Sprintf("%d runs are open, %d of the bad build; %d were terminated; dead letters: %s", i.runsOf(t, running),
		i.runsOf(t, builtBy("v2")+" AND ExecutionStatus = 'Running'"), i.runsOf(t, "ExecutionStatus = 'Terminated'"), letters)
}

// Workers leave worker versioning, by the commands of docs/upgrades.md:
//   - workers without versions process new events, with none of the build left
//   - a run that the build has begun is finished by the build
func TestWorkersLeaveVersioning(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	n := i.start(t, "ingress")
	build := i.startBuild(t, holdfast, "v1")
	i.section(t, n, "The first build")
	waiting, release := i.sendWaiting(t, n)
	i.start(t, "worker")
	i.section(t, n, "Leave worker versioning")
	release()
	i.awaitCount(t, time.Minute, 1, processedEvents)
	build.kill()

	after := n.send(t, someEvent()).Events[0].WorkflowID
	i.awaitCount(t, time.Minute, 2, processedEvents)
	for workflowID, want := range map[string]string{waiting: "v1", after: ""} {
		builds, _ := i.buildsOf(t, event.Run{WorkflowID: workflowID})
		require.Equal(t, []string{want}, builds, workflowID)
	}
}

// sendWaiting sends an event whose run waits on the durable lane until it is released. Only this one waits: a load that waited
// with it would grow until the machine has no time for the rollout.
func (i *installation) sendWaiting(t *testing.T, n *node) (workflowID string, release func()) {
	t.Helper()
	customer := uniqueID("cus")
	release = i.lockEntity(t, "stripe", "customer", customer)
	return i.awaitWaiting(t, n, customerUpdated(uniqueID("evt"), customer, "Ada", time.Now())), release
}

// awaitWaiting sends an event that can't be processed for now, and waits until its run is on the durable lane.
func (i *installation) awaitWaiting(t *testing.T, n *node, body []byte) (workflowID string) {
	t.Helper()
	a := n.send(t, body)
	require.Equal(t, "accepted", a.state(), string(a.body))
	workflowID = a.Events[0].WorkflowID
	eventually(t, 30*time.Second, "its run is open", func() error { return i.usesDurableLane(t, workflowID) })
	return workflowID
}

// startBuild runs a worker of a build, optionally with other code, and waits until Temporal has all its queues.
func (i *installation) startBuild(t *testing.T, program, build string) *node {
	t.Helper()
	n := launchProgram(t, program, "worker", i.environment("TEMPORAL_DEPLOYMENT_NAME=holdfast", "TEMPORAL_WORKER_BUILD_ID="+build))
	n.awaitReady(t)
	handle := i.dial(t).WorkerDeploymentClient().GetHandle("holdfast")
	eventually(t, time.Minute, "the build "+build+" is known", func() error {
		found, err := handle.DescribeVersion(context.Background(), sdk.WorkerDeploymentDescribeVersionOptions{BuildID: build})
		if err != nil {
			return err
		}
		polled := map[string]bool{}
		for _, queue := range found.Info.TaskQueuesInfos {
			polled[queue.Name] = true
		}
		return atLeast(len(polled), len(workflows.AllQueues()))
	})
	return n
}

// pollers returns the number of workers polling the events' queue.
func (i *installation) pollers(t *testing.T) int {
	t.Helper()
	queues, err := runs.Queues{Client: i.dial(t), Namespace: i.namespace}.Read(context.Background())
	require.NoError(t, err)
	return queues[len(workflows.Queues())-1].WorkflowPollers
}

// section runs the blocks below a heading of docs/upgrades.md. On a busy machine Temporal doesn't report all queues of a build
// within a command's time limit; the page says to repeat it.
func (i *installation) section(t *testing.T, n *node, heading string) {
	t.Helper()
	for _, block := range blocksBelow(t, heading) {
		eventually(t, time.Minute, heading, func() error { return i.tryShell(t, n, block, "") })
	}
}

// blocksBelow returns the commands below a heading of docs/upgrades.md.
func blocksBelow(t *testing.T, heading string) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "upgrades.md"))
	require.NoError(t, err)
	_, below, found := strings.Cut(string(text), "\n### "+heading+"\n")
	require.True(t, found, heading)
	below, _, _ = strings.Cut(below, "\n### ")
	for _, block := range shellBlock.FindAllStringSubmatch(below, -1) {
		blocks = append(blocks, block[1])
	}
	require.NotEmpty(t, blocks, "a section without commands tests nothing")
	return blocks
}

// builtBy queries the runs of events that a build has last worked on.
func builtBy(build string) string {
	return "WorkflowType = 'ProcessEvent' AND TemporalWorkerDeploymentVersion = 'holdfast:" + build + "'"
}

// checkBuilds reads the history of every run of an event and checks which builds have done its tasks.
func (i *installation) checkBuilds(t *testing.T, waiting, stuck string) {
	t.Helper()
	page, err := i.dial(t).ListWorkflow(context.Background(), listRequest("WorkflowType = 'ProcessEvent'"))
	require.NoError(t, err)
	ended := map[string]int{}
	for _, info := range page.GetExecutions() {
		run := event.Run{WorkflowID: info.GetExecution().GetWorkflowId(), RunID: info.GetExecution().GetRunId()}
		if info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED {
			continue // it was of the bad build
		}
		require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, info.GetStatus(), run)
		builds, waits := i.buildsOf(t, run)
		require.Len(t, builds, 1, "%s has met %v", run.WorkflowID, builds)
		require.Equal(t, builds[0] == "v2", waits, "%s of %s", run.WorkflowID, builds[0])
		ended[builds[0]]++
		if run.WorkflowID == waiting || run.WorkflowID == stuck {
			require.Equal(t, "v1", builds[0], run.WorkflowID)
		}
	}
	t.Log("runs by build: ", ended)
	require.Greater(t, ended["v1"], 10)
	require.Greater(t, ended["v2"], 4)
}

// buildsOf returns the builds that have done the tasks of a run, and whether it has waited as the changed workflow does.
func (i *installation) buildsOf(t *testing.T, run event.Run) (builds []string, waits bool) {
	t.Helper()
	for _, e := range i.historyOf(t, run) {
		failed := e.GetWorkflowTaskFailedEventAttributes()
		require.Nil(t, failed, "a task of %s has failed", run.WorkflowID)
		waits = waits || e.GetEventType() == enumspb.EVENT_TYPE_TIMER_STARTED
		if done := e.GetWorkflowTaskCompletedEventAttributes(); done != nil {
			if build := done.GetDeploymentVersion().GetBuildId(); !slices.Contains(builds, build) {
				builds = append(builds, build)
			}
		}
	}
	return builds, waits
}
