package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/operator/launch"
	"holdfast/persistence"
	"holdfast/workflows/runs"
)

// note is an event of standard-webhooks.
const note = `{"type":"note.written","timestamp":"2026-01-01T00:00:00Z","data":{"id":"note_1"}}`

// newInstallationOf has a definition of its own, "brief".
func newInstallationOf(t *testing.T, definition string, env ...string) *installation {
	t.Helper()
	dir := t.TempDir()
	text := "name: brief\nextends: standard-webhooks\n" + definition + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "brief.yaml"), []byte(text), 0o644))
	return newInstallation(t, append(env, "HOLDFAST_PROVIDERS_DIR="+dir)...)
}

// The run of an event is open, and an operator resets the run of an earlier event with its key, from before the dedupe window:
//   - Temporal ends the open run; the sweep records the event's dead letter, although its workflow has a later run
//   - once, however often the sweep runs
//   - a replay processes it, although the latest run, which is another event's, has succeeded
func TestTheResetOfAnOlderRunLosesNoEvent(t *testing.T) {
	t.Parallel()
	i := newInstallationOf(t, "dedupe: 1s", "HOLDFAST_REPLAY_SWEEP_INTERVAL=1s")
	n := i.start(t, "ingress")
	worker := i.start(t, "worker")
	id := uniqueID("msg")
	workflowID := "brief:" + id
	older := n.sendStandard(t, "/webhooks/brief", id, []byte(note))
	require.Equal(t, "accepted", older.state(), string(older.body))
	i.awaitStatus(t, workflowID, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	olderRun := i.describe(t, workflowID).GetExecution().GetRunId()
	worker.kill() // so that the run of the second one stays open

	var newer answer
	eventually(t, 10*time.Second, "the window is over", func() error {
		if newer = n.sendStandard(t, "/webhooks/brief", id, []byte(note)); newer.state() != "accepted" {
			return errors.New(newer.state())
		}
		return nil
	})
	eventID := newer.Events[0].EventID
	require.NotEqual(t, older.Events[0].EventID, eventID)
	i.runTool(t, "temporal", "workflow", "reset", "--workflow-id", workflowID, "--run-id", olderRun,
		"--type", "FirstWorkflowTask", "--reason", "the older one")
	i.start(t, "worker")
	i.awaitStatus(t, workflowID, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)

	i.awaitCount(t, time.Minute, 1, openDeadLetters+" AND event_id = $1 AND error_code = 'terminated'", eventID)
	swept := i.count(t, "SELECT id FROM dead_letters")
	i.awaitSweeps(t, 3)
	require.Equal(t, 1, i.count(t, "SELECT failures FROM dead_letters"))
	out, err := i.run(t, "dlq", "replay", fmt.Sprint(swept), "--wait")
	require.NoError(t, err, out)
	i.awaitCount(t, 30*time.Second, 2, processedEvents)
	require.Equal(t, 1, i.count(t, processedEvents+" AND id = $1", eventID))
	require.Zero(t, i.count(t, openDeadLetters))
}

// awaitSweeps waits until this many more sweeps have completed.
func (i *installation) awaitSweeps(t *testing.T, n int) {
	t.Helper()
	const completed = "WorkflowType = 'SweepRuns' AND ExecutionStatus = 'Completed'"
	before := i.runsOf(t, completed)
	eventually(t, time.Minute, fmt.Sprintf("%d more sweeps", n), func() error { return atLeast(i.runsOf(t, completed), before+n) })
}

// Some of the terminated runs were started by hand and can't become dead letters:
//   - the sweep records the dead letter of the event among them
//   - and reports the others, in each sweep, until they are deleted
func TestARunThatCannotBeReadStopsNoSweep(t *testing.T) {
	t.Parallel()
	i := newInstallation(t, "HOLDFAST_REPLAY_SWEEP_INTERVAL=1s")
	byHand := func(id string, args ...string) {
		i.runTool(t, "temporal", append([]string{
			"workflow", "start", "--type", "ProcessEvent", "--task-queue", "events", "--workflow-id", id,
		}, args...)...)
		i.runTool(t, "temporal", "workflow", "terminate", "--workflow-id", id, "--reason", "by hand")
	}
	byHand("hand:other-input", "--input", `"what is this?"`)
	byHand("hand:no-uuid", "--input", `{"id":"nobody","provider":"stripe","key":"evt_1"}`, "--input", `{}`)
	byHand("hand:memo", "--input", `"x"`, "--memo", `event_id="nobody"`)
	n := i.start(t, "ingress")
	sent := n.send(t, someEvent())
	require.Equal(t, "accepted", sent.state(), string(sent.body))
	i.runTool(t, "temporal", "workflow", "terminate", "--workflow-id", sent.Events[0].WorkflowID, "--reason", "by mistake")

	i.start(t, "worker")
	i.awaitCount(t, time.Minute, 1, openDeadLetters+" AND event_id = $1", sent.Events[0].EventID)
	i.awaitSweeps(t, 2)
	const unswept = "SELECT count(DISTINCT meta->>'workflow_id') FROM error_log WHERE phase = 'upkeep' AND alert_pending" +
		" AND error_code IN ('unreadable_run', 'invalid_text_representation')"
	i.awaitCount(t, time.Minute, 3, unswept)
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM dead_letters"))
	require.Equal(t, 1, i.count(t, "SELECT failures FROM dead_letters"))
}

// A dead event owns its key, and Temporal has deleted its run (its retention is over). The sender redelivers it:
//   - it is processed, under the ID of the dead event, and its dead letter is resolved
//   - the records of the run show whose it is, and it replays
func TestARedeliveryRescuesAnEventWithoutARun(t *testing.T) {
	t.Parallel()
	i := newInstallationOf(t, "retry: {attempts: 1, delays: [1s]}")
	n := i.start(t, "serve")
	id := uniqueID("msg")
	workflowID := "brief:" + id
	i.exec(t, "ALTER TABLE event_entities RENAME TO hidden")
	first := n.sendStandard(t, "/webhooks/brief", id, []byte(note))
	require.Equal(t, "accepted", first.state(), string(first.body))
	eventID := first.Events[0].EventID
	i.awaitCount(t, time.Minute, 1, openDeadLetters+" AND step = 'upsert' AND event_id = $1", eventID)
	i.awaitStatus(t, workflowID, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
	i.exec(t, "ALTER TABLE hidden RENAME TO event_entities")
	i.forget(t, workflowID, "Failed")

	second := n.sendStandard(t, "/webhooks/brief", id, []byte(note))
	require.Equal(t, "accepted", second.state(), string(second.body))
	i.awaitStatus(t, workflowID, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	require.Equal(t, 1, i.count(t, processedEvents+" AND id = $1", eventID))
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM events"))
	require.Zero(t, i.count(t, openDeadLetters))
	var result struct {
		EventID string `json:"event_id"`
		Outcome string
	}
	require.NoError(t, i.dial(t).GetWorkflow(context.Background(), workflowID, "").Get(context.Background(), &result))
	require.Equal(t, "processed", result.Outcome)
	require.Equal(t, eventID, result.EventID)
	latest, err := runs.NewStarter(i.dial(t), converter.GetDefaultDataConverter()).LatestRun(context.Background(), workflowID)
	require.NoError(t, err)
	require.Equal(t, eventID, latest.EventID)
	i.replay(t, "adopted_owner", workflowID)
}

// forget deletes a workflow immediately, like the end of the retention. Its run must have ended with the status.
func (i *installation) forget(t *testing.T, workflowID, status string) {
	t.Helper()
	c := i.dial(t)
	eventually(t, 30*time.Second, "the end of the run is on record", func() error {
		found, err := c.CountWorkflow(context.Background(), &workflowservice.CountWorkflowExecutionsRequest{
			Query: fmt.Sprintf("WorkflowId = %q AND ExecutionStatus = %q", workflowID, status),
		})
		if err == nil && found.GetCount() != 1 {
			err = errors.New("not yet")
		}
		return err
	})
	_, err := c.WorkflowService().DeleteWorkflowExecution(context.Background(), &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace:         i.namespace,
		WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: workflowID},
	})
	require.NoError(t, err)
	i.awaitForgotten(t, workflowID)
}

// awaitForgotten waits until Temporal has deleted a workflow.
func (i *installation) awaitForgotten(t *testing.T, workflowID string) {
	t.Helper()
	c := i.dial(t)
	eventually(t, 30*time.Second, "Temporal has forgotten the run", func() error {
		if _, err := c.DescribeWorkflowExecution(context.Background(), workflowID, ""); err == nil {
			return errors.New("not yet")
		}
		return nil
	})
}

// A search attribute is removed while events come in, so that Temporal, which has just accepted others, refuses each of them:
//   - they wait in the inbox, and none becomes a dead letter
//   - once the setup is corrected they are processed
func TestAFaultInTemporalsSetupBuriesNothing(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	n := i.start(t, "serve")
	sent := 0
	until := func(want string) {
		eventually(t, time.Minute, "events are "+want, func() error {
			a := n.send(t, someEvent())
			if a.status == 202 {
				sent++
			}
			if a.state() != want {
				return errors.New(a.state())
			}
			return nil
		})
	}
	until("accepted")
	i.runTool(t, "temporal", "operator", "search-attribute", "remove", "--name", "EventType", "--yes")
	until("spooled")
	i.awaitCount(t, time.Minute, 0, "SELECT count(*) FROM inbox WHERE attempts < 2")
	require.Zero(t, i.count(t, "SELECT count(*) FROM dead_letters"))
	require.NotZero(t, i.count(t, inboxRows))
	out, err := i.run(t, "migrate")
	require.NoError(t, err, out)
	i.awaitDrained(t, sent)
}

// A dead letter is replayed at the moment when it appears, just before its run ends:
//   - each replay starts a run
func TestAReplayInTheMomentOfTheDeadLetter(t *testing.T) {
	t.Parallel()
	i := newInstallation(t, "HOLDFAST_WORKER_GRACE=1s")
	n := i.start(t, "serve")
	service := i.replays(t)
	for k := range 10 {
		id := uniqueID("msg")
		accepted(t, func() answer { return n.sendStandard(t, "/webhooks/standard-webhooks", id, []byte(poison)) })
		i.awaitCount(t, time.Minute, k+1, "SELECT count(*) FROM dead_letters")
		letter := i.count(t, "SELECT max(id) FROM dead_letters")
		_, err := service.Replay(context.Background(), int64(letter), oversight.Actor{Name: "test"})
		require.NoError(t, err)
		i.awaitCount(t, time.Minute, k+1, openDeadLetters+" AND state = 'open' AND failures = 2")
	}
}

// The run of a dead letter doesn't end, because there is no worker:
//   - a replay is refused, and the dead letter is unchanged: it isn't hidden as replaying
//   - once the run has ended the next replay starts one
func TestAReplayThatIsRefusedHidesNothing(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	service := i.replays(t)
	starter := runs.NewStarter(i.dial(t), converter.GetDefaultDataConverter())
	r := waitingReceipt("stripe", uuid.Must(uuid.NewV7()).String(), uniqueID("evt"))
	body := customerUpdated(r.Key, uniqueID("cus"), "Ada", time.Now())
	started, err := starter.Start(context.Background(), r, body, false)
	require.NoError(t, err)
	store, err := persistence.Open(t.Context(), persistence.Config{URL: i.database})
	require.NoError(t, err)
	defer store.Close()
	require.NoError(t, store.DeadLetters.RecordDeadLetter(context.Background(), event.DeadLetter{
		Receipt: r, Body: body, Run: event.Run{WorkflowID: started.WorkflowID, RunID: started.RunID},
		Failure: event.Failure{Step: event.StepParse, Class: event.ClassFailed, Code: "x", Attempts: 1, At: time.Now()},
	}))
	letter := int64(i.count(t, "SELECT id FROM dead_letters"))

	_, err = service.Replay(context.Background(), letter, oversight.Actor{Name: "test"})
	var exists *operation.RunExistsError
	require.ErrorAs(t, err, &exists)
	require.Equal(t, 1, i.count(t, openDeadLetters+" AND state = 'open'"))
	i.runTool(t, "temporal", "workflow", "terminate", "--workflow-id", started.WorkflowID, "--reason", "its end")
	replayed, err := service.Replay(context.Background(), letter, oversight.Actor{Name: "test"})
	require.NoError(t, err)
	require.NotEqual(t, started.RunID, replayed.Run.RunID)
}

// replays returns the replays of an operator's tools.
func (i *installation) replays(t *testing.T) *launch.SingleReplays {
	t.Helper()
	store, err := persistence.Open(t.Context(), persistence.Config{URL: i.database, MaxConns: 4})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	return &launch.SingleReplays{DeadLetters: store.ReplayView(), Runs: runs.NewStarter(i.dial(t), converter.GetDefaultDataConverter())}
}

// A schedule's run doesn't end, because there is no worker:
//   - the doctor reports it
func TestTheDoctorSeesAScheduleThatIsStuck(t *testing.T) {
	t.Parallel()
	i := newInstallation(t, "HOLDFAST_REPLAY_SWEEP_INTERVAL=1s")
	const check = "schedule holdfast-sweep-runs"
	eventually(t, time.Minute, "it is told", func() error {
		f, _ := i.doctor(t)
		if f.of(check) != "warn" {
			return fmt.Errorf("%+v", f)
		}
		return nil
	})
	worker := i.start(t, "worker")
	eventually(t, time.Minute, "it goes on", func() error {
		f, _ := i.doctor(t)
		if f.of(check) != "ok" {
			return fmt.Errorf("%+v", f)
		}
		return nil
	})
	i.exec(t, "ALTER TABLE dead_letters RENAME TO hidden")
	eventually(t, time.Minute, "it is told why it does not get on", func() error {
		out, _ := i.run(t, "doctor")
		for line := range strings.Lines(out) {
			if strings.HasPrefix(line, "fail") && strings.Contains(line, check) && strings.Contains(line, " fails, attempt ") {
				return nil
			}
		}
		return errors.New(out)
	})
	i.exec(t, "ALTER TABLE hidden RENAME TO dead_letters")
	worker.terminate(t)
}
