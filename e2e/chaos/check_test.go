package chaos

import (
	"context"
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"

	"holdfast/internal/ledger"
)

// looks is how many consecutive checks must find it idle.
const looks = 5

// awaitQuiet waits until no event is in progress: no open run, and an empty inbox. The list of runs lags behind, so the checks
// are repeated. It fails if the work doesn't become less for so long: on a busy machine a backlog takes its time.
func (w *world) awaitQuiet(limit time.Duration) {
	w.t.Helper()
	c := w.client()
	least, deadline, calm := math.MaxInt, time.Now().Add(limit), 0
	for calm < looks {
		open, err := w.unfinished(c)
		switch {
		case err == nil && open == 0:
			calm++
		case err == nil && open < least:
			least, deadline, calm = open, time.Now().Add(limit), 0
		default:
			calm = 0
		}
		if time.Now().After(deadline) {
			w.t.Log("what is open:\n" + w.describeOpenRuns(c))
			for _, n := range w.workers {
				n.signal(syscall.SIGQUIT) // writes its goroutines to its log
			}
			w.sleep(restartPause)
			require.FailNow(w.t, fmt.Sprintf("no progress for %s", limit), "%d runs, events and deliveries are unfinished: %v", open, err)
		}
		w.sleep(100 * time.Millisecond)
	}
}

// unfinished counts open runs, events in the inbox and waiting deliveries.
func (w *world) unfinished(c sdk.Client) (int, error) {
	open, err := c.CountWorkflow(w.t.Context(), &workflowservice.CountWorkflowExecutionsRequest{
		Namespace: w.namespace, Query: "ExecutionStatus = 'Running' AND WorkflowType = 'ProcessEvent'",
	})
	if err != nil {
		return 0, err
	}
	rows, err := w.count("SELECT (SELECT count(*) FROM inbox) + (SELECT count(*) FROM delivery_queue) + " +
		"(SELECT count(*) FROM delivery_fanouts) + (SELECT count(*) FROM delivery_unmatched)")
	return int(open.GetCount()) + rows, err
}

// check asserts every invariant, and fills in the row of the table.
func (w *world) check(r *result) {
	w.t.Helper()
	w.checkLedger(r)
	w.checkDeadLetters(r)
	w.checkDeliveries()
	w.checkTemporal()
	w.checkStorage()
	w.checkUsage()
	w.checkLogs(r.scenario)
}

// shown bounds the broken keys in a failure message.
const shown = 10

func (w *world) checkLedger(r *result) {
	w.t.Helper()
	l, err := ledger.ReadFile(w.load.path)
	require.NoError(w.t, err)
	report := w.verify(w.rewound.undo(l))
	r.checked = true
	r.total, r.lost, r.duplicated = report.Acknowledged, report.Finding(ledger.Lost).Count, report.Finding(ledger.Duplicated).Count
	r.recovered, r.dead = report.Finding(ledger.Recovered).Count, report.Dead
	for _, f := range report.Findings {
		if f.Broken() {
			w.t.Errorf("%s: %d, such as %v", f.Invariant, f.Count, f.Examples[:min(shown, len(f.Examples))])
		}
	}
	if r.total == 0 {
		w.t.Error("nothing was acknowledged: the scenario shows nothing")
	}
}

// checkDeadLetters asserts that no event became a dead letter because of the infrastructure, and that all poison did.
func (w *world) checkDeadLetters(r *result) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 30*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, w.sql.url(w.name))
	require.NoError(w.t, err)
	defer c.Close(ctx)
	rows, err := c.Query(ctx, "SELECT workflow_id, step || ' ' || error_class || ' ' || error_code FROM dead_letters")
	require.NoError(w.t, err)
	var id, reason string
	buried := map[string]bool{}
	var wrong []string
	_, err = pgx.ForEachRow(rows, []any{&id, &reason}, func() error {
		buried[id] = true
		if !w.load.poison[id] {
			wrong = append(wrong, id+" "+reason)
		}
		return nil
	})
	require.NoError(w.t, err)
	r.wrong = len(wrong)
	if len(wrong) > 0 && !r.scenario.buries {
		w.t.Errorf("%d good events became dead letters, such as %v", len(wrong), wrong[:min(shown, len(wrong))])
	}
	for poison := range w.load.poison {
		if w.load.acked[poison] && !buried[poison] {
			w.t.Errorf("%s is poison, and no dead letter", poison)
		}
	}
}

// checkUsage asserts that nothing has leaked.
func (w *world) checkUsage() {
	w.t.Helper()
	for _, n := range w.nodes() {
		eventually(w.t, time.Minute, n.name+" is back at what it held before", func() error {
			now, err := w.use(n)
			if err != nil {
				return err
			}
			return now.exceeds(n.baseline)
		})
	}
}

var (
	crashes      = regexp.MustCompile(`(?m)^(panic:|fatal error:|WARNING: DATA RACE).*|conn busy|"panic"`)
	disagreement = regexp.MustCompile(`(?i)nondeterminis|TMPRL1100`)
)

// checkLogs asserts what no log may contain.
func (w *world) checkLogs(s *scenario) {
	w.t.Helper()
	for _, n := range w.nodes() {
		raw, err := os.ReadFile(n.log)
		require.NoError(w.t, err)
		log := string(raw)
		if found := crashes.FindString(log); found != "" {
			w.t.Errorf("the log of %s has %q", n.name, found)
		}
		if found := disagreement.FindString(log); found != "" && !s.mixed {
			w.t.Errorf("the log of %s says that code and history disagree", n.name)
		}
		if strings.Contains(log, canary) {
			w.t.Errorf("the log of %s has a payload or a secret in it", n.name)
		}
	}
}

// missing counts the acknowledged events that are neither in the database nor in progress.
func (w *world) missing() (lost int) {
	stored, err := w.workflowsOf(storedWorkflows)
	if err != nil {
		w.t.Logf("the database can't be read: %v", err)
	}
	c := w.client()
	for id := range w.load.acked {
		ctx, cancel := context.WithTimeout(w.t.Context(), time.Second)
		run, err := c.DescribeWorkflowExecution(ctx, id, "")
		cancel()
		progressing := err == nil && run.GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
		if !stored[id] && !progressing {
			lost++
		}
	}
	return lost
}
