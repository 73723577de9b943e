package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/workflows"
)

// patient waits for an hour after a counted failure, hasty for two seconds.
const (
	patient = "name: patient\nextends: homemade\nretry: {attempts: 3, delays: [1h]}\n"
	hasty   = "name: hasty\nextends: homemade\nretry: {attempts: 20, delays: [2s]}\n"
)

// A failing run leaves a history that the current code replays:
//   - a counted failure, the timer of the pause after it, and the successful attempt
//   - a run that was canceled during such a pause
//   - a run that was canceled during a step
func TestHistoriesOfTroubleReplay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"homemade": definitionOf("json"), "patient": patient, "hasty": hasty} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(text), 0o644))
	}
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir)
	n := i.start(t, "serve")

	i.exec(t, "ALTER TABLE events RENAME COLUMN correlation_id TO correlation_id_away")
	again, waits := uniqueID("msg"), uniqueID("msg")
	n.sendStandard(t, "/webhooks/hasty", again, []byte(`{"note":1}`))
	n.sendStandard(t, "/webhooks/patient", waits, []byte(`{"note":1}`))
	i.awaitEvent(t, "patient:"+waits, enumspb.EVENT_TYPE_TIMER_STARTED)
	i.cancel(t, "patient:"+waits)
	i.awaitStatus(t, "patient:"+waits, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
	i.replay(t, "canceled_pause", "patient:"+waits)
	i.awaitEvent(t, "hasty:"+again, enumspb.EVENT_TYPE_TIMER_STARTED)
	i.exec(t, "ALTER TABLE events RENAME COLUMN correlation_id_away TO correlation_id")
	i.awaitStatus(t, "hasty:"+again, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	i.awaitEvent(t, "hasty:"+again, enumspb.EVENT_TYPE_TIMER_FIRED)
	i.replay(t, "counted_retry", "hasty:"+again)

	slow := uniqueID("evt")
	release := i.lock(t, "entities")
	n.send(t, customerUpdated(slow, uniqueID("cus"), "Ada", time.Now()))
	i.awaitEvent(t, "stripe:"+slow, enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED)
	i.cancel(t, "stripe:"+slow)
	i.awaitStatus(t, "stripe:"+slow, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
	release()
	i.replay(t, "canceled", "stripe:"+slow)
	require.Equal(t, 2, i.count(t, "SELECT count(*) FROM dead_letters WHERE error_code = 'canceled'"))
}

// A batch that fails permanently leaves a history that the current code replays, and its event to the next batch.
func TestHistoryOfAFailedBatchReplays(t *testing.T) {
	t.Parallel()
	i := newBulkInstallation(t)
	door := i.start(t, "ingress")
	require.Equal(t, "spooled", door.send(t, customerUpdated(uniqueID("evt"), uniqueID("cus"), "Ada", time.Now())).state())
	door.terminate(t)
	i.exec(t, "ALTER TABLE inbox RENAME COLUMN raw_body TO raw_body_away")
	i.start(t, "worker")
	failed := i.latestOf(t, workflows.TypeProcessBatch, "Failed") // after pauses of 5 and 30 seconds
	i.exec(t, "ALTER TABLE inbox RENAME COLUMN raw_body_away TO raw_body")
	i.replay(t, "batch_failed", failed)
	i.awaitCount(t, time.Minute, 1, inBatches)
}

// A replay has read its row so often that its history would grow too long:
//   - it continues as new, and leaves a history that the current code replays
//   - it follows its row in the next run as before
func TestHistoryOfALongReplayReplays(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.bury(t, 1)
	id := i.startReplay(t, "--all")
	out, err := i.run(t, "replay", "pause", id)
	require.NoError(t, err, out)
	i.start(t, "worker")
	workflowID := workflows.OperationID(operation.KindReplay, id)
	first := i.describe(t, workflowID).GetExecution().GetRunId()
	c := i.dial(t)
	for latest, turns := first, int64(0); latest == first; turns++ {
		// A turn is an activity and a timer, of three events or two, and at least three workflow tasks.
		eventually(t, time.Minute, "a turn has ended", func() error {
			described, err := c.DescribeWorkflowExecution(t.Context(), workflowID, "")
			if err != nil {
				return err
			}
			info := described.GetWorkflowExecutionInfo()
			if latest = info.GetExecution().GetRunId(); latest == first && info.GetHistoryLength() < 10*turns {
				return fmt.Errorf("turn %d goes on", turns)
			}
			return nil
		})
		require.NoError(t, c.SignalWorkflow(t.Context(), workflowID, "", workflows.OperationSignal(operation.KindReplay), nil))
	}
	i.replayRun(t, "replay_continued", event.Run{WorkflowID: workflowID, RunID: first})

	out, err = i.run(t, "replay", "resume", id)
	require.NoError(t, err, out)
	i.awaitReplay(t, time.Minute, id, operation.Completed)
	i.awaitCount(t, time.Minute, 1, processedEvents)
}

// awaitEvent waits until the history of a workflow's latest run has an event of the type.
func (i *installation) awaitEvent(t *testing.T, workflowID string, want enumspb.EventType) {
	t.Helper()
	eventually(t, 30*time.Second, workflowID+" has the event "+want.String(), func() error {
		events := i.history(t, workflowID)
		for _, e := range events {
			if e.GetEventType() == want {
				return nil
			}
		}
		return fmt.Errorf("it is not among its %d", len(events))
	})
}

func (i *installation) cancel(t *testing.T, workflowID string) {
	t.Helper()
	i.runTool(t, "temporal", "workflow", "cancel", "--workflow-id", workflowID)
}
