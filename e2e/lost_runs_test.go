package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"holdfast/event"
	"holdfast/workflows"
	"holdfast/workflows/runs"
)

const persistedEvents = "SELECT count(*) FROM events WHERE status = 'persisted'"

// loseRun stores an event without upserting its entities, and makes Temporal lose its run, as after a data loss.
func (i *installation) loseRun(t *testing.T, n *node, send func(*node) (workflowID string)) {
	t.Helper()
	release := i.lock(t, "entities")
	workflowID := send(n)
	i.awaitCount(t, time.Minute, 1, persistedEvents)
	n.kill()
	i.runTool(t, "temporal", "workflow", "terminate", "--workflow-id", workflowID, "--reason", "lost")
	i.forget(t, workflowID, "Terminated")
	release()
}

// An event is stored and unfinished, and Temporal no longer has its run. The sender redelivers it, three times at once:
//   - one run takes it over and processes it, under its first ID
//   - the records of that run show whose it is, and it replays
func TestARedeliveryProcessesAnEventWithoutARun(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	body := someEvent()
	var first answer
	i.loseRun(t, i.start(t, "serve"), func(n *node) string {
		first = n.send(t, body)
		require.Equal(t, "accepted", first.state(), string(first.body))
		return first.Events[0].WorkflowID
	})
	workflowID, eventID := first.Events[0].WorkflowID, first.Events[0].EventID

	n := i.start(t, "serve")
	var sending sync.WaitGroup
	states := make([]string, 3)
	for k := range states {
		sending.Go(func() { states[k] = n.send(t, body).state() })
	}
	sending.Wait()
	require.Contains(t, states, "accepted")
	i.awaitStatus(t, workflowID, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	i.awaitCount(t, 30*time.Second, 1, processedEvents+" AND id = $1", eventID)
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM events"))
	require.Zero(t, i.count(t, "SELECT count(*) FROM dead_letters"))
	require.Equal(t, eventID, n.awaitProcessed(t, body).Events[0].EventID)
	i.awaitRuns(t, workflowID, 1)
	i.replay(t, "adopted_unfinished", workflowID)
}

// startOld starts the run of an event that was received an hour ago.
func (i *installation) startOld(t *testing.T, customer string) (workflowID string) {
	t.Helper()
	id := event.FirstIDAt(time.Now().Add(-time.Hour))[:14] + uuid.Must(uuid.NewV7()).String()[14:]
	r := waitingReceipt("stripe", id, uniqueID("evt"))
	started, err := runs.NewStarter(i.dial(t), converter.GetDefaultDataConverter()).
		Start(context.Background(), r, customerUpdated(r.Key, customer, "Ada", time.Now()), false)
	require.NoError(t, err)
	return started.WorkflowID
}

// Three events are stored and unfinished: Temporal has lost the run of one, the run of another succeeded but the database has
// lost its effects, and the third still waits for an entity:
//   - doctor finds the two, and the sweep turns them into dead letters, which are replayed automatically
//   - the third, whose run is open, is left alone
func TestTheSweepFindsUnfinishedEventsWithoutARun(t *testing.T) {
	t.Parallel()
	i := newInstallation(t, "HOLDFAST_REPLAY_BASE=500ms", "HOLDFAST_REPLAY_INTERVAL=1s", "HOLDFAST_REPLAY_SWEEP_INTERVAL=1s")
	i.runTool(t, "temporal", "schedule", "toggle", "--schedule-id", "holdfast-sweep-runs", "--pause")
	i.loseRun(t, i.start(t, "serve"), func(*node) string { return i.startOld(t, uniqueID("cus")) })
	i.start(t, "serve")
	i.awaitStatus(t, i.startOld(t, uniqueID("cus")), enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	i.exec(t, "UPDATE events SET status = 'persisted', outcome = NULL, processed_at = NULL")
	busy := uniqueID("cus")
	release := i.lockEntity(t, "stripe", "customer", busy)
	waiting := i.startOld(t, busy)
	i.awaitCount(t, time.Minute, 3, persistedEvents)

	const check = "unfinished events"
	eventually(t, time.Minute, "doctor finds them", func() error { return i.examine(t, check, "fail", "2 of the oldest") })
	i.runTool(t, "temporal", "schedule", "toggle", "--schedule-id", "holdfast-sweep-runs", "--unpause")
	i.awaitCount(t, time.Minute, 2, "SELECT count(*) FROM dead_letters WHERE step = 'run' AND error_code IN ('no_run', 'lost')")
	i.awaitCount(t, time.Minute, 2, processedEvents)
	i.awaitSweeps(t, 2)
	require.Equal(t, 2, i.count(t, "SELECT count(*) FROM dead_letters WHERE state = 'resolved'"))
	require.Equal(t, 1, i.count(t, persistedEvents+" AND workflow_id = $1", waiting))
	require.NoError(t, i.examine(t, check, "ok", ""))
	release()
	i.awaitCount(t, time.Minute, 3, processedEvents)
	require.Equal(t, 2, i.count(t, "SELECT count(*) FROM dead_letters"))
	i.replay(t, "sweep_unfinished", i.latestOf(t, workflows.TypeSweepRuns, "Completed"))
}

// An operator terminates one event's run and cancels another's; a third run times out:
//   - only the third, about which no operator has decided, is replayed by the schedule
//   - the dead letters of the others say so, and wait: a redelivery runs one again, a replay the other
func TestRunsEndedByAnOperatorStayEnded(t *testing.T) {
	t.Parallel()
	i := newInstallation(t, "HOLDFAST_REPLAY_BASE=500ms", "HOLDFAST_REPLAY_INTERVAL=1s", "HOLDFAST_REPLAY_SWEEP_INTERVAL=1s")
	n := i.start(t, "serve")
	release := i.lock(t, "entities")
	terminated, canceled := someEvent(), someEvent()
	ofTerminated, ofCanceled := n.send(t, terminated).Events[0].WorkflowID, n.send(t, canceled).Events[0].WorkflowID
	i.startWithTimeout(t, 10*time.Second)
	i.awaitCount(t, time.Minute, 3, persistedEvents)
	i.runTool(t, "temporal", "workflow", "terminate", "--workflow-id", ofTerminated, "--reason", "INC-42")
	i.cancel(t, ofCanceled)
	i.awaitCount(t, time.Minute, 1, openDeadLetters+" AND error_code = 'timed_out'")
	// A step that had begun would succeed, and there would be nothing to rescue.
	i.awaitCount(t, time.Minute, 0, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
	release()

	i.awaitCount(t, time.Minute, 1, processedEvents)
	const due = "WorkflowType = 'ReplayDue' AND ExecutionStatus = 'Completed'"
	before := i.runsOf(t, due)
	eventually(t, time.Minute, "the schedule has run again", func() error { return atLeast(i.runsOf(t, due), before+3) })
	const ended = openDeadLetters + " AND state = 'open' AND failures = 1 AND auto_attempts = 0 AND next_replay_at IS NULL" +
		" AND error_code = $1 AND error_message LIKE '%an operator decided this%' AND workflow_id = $2"
	require.Equal(t, 1, i.count(t, ended, "terminated", ofTerminated))
	require.Equal(t, 1, i.count(t, ended, "canceled", ofCanceled))

	require.Equal(t, "accepted", n.send(t, terminated).state())
	out, err := i.run(t, "dlq", "replay", fmt.Sprint(i.count(t, "SELECT id FROM dead_letters WHERE error_code = 'canceled'")), "--wait")
	require.NoError(t, err, out)
	i.awaitCount(t, time.Minute, 3, processedEvents)
	require.Zero(t, i.count(t, openDeadLetters))
}

// startWithTimeout starts the run of an event with a timeout, as an operator might.
func (i *installation) startWithTimeout(t *testing.T, timeout time.Duration) {
	t.Helper()
	r := waitingReceipt("stripe", uuid.Must(uuid.NewV7()).String(), uniqueID("evt"))
	body := converter.NewRawValue(&commonpb.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON)},
		Data:     customerUpdated(r.Key, uniqueID("cus"), "Ada", time.Now()),
	})
	_, err := i.dial(t).ExecuteWorkflow(context.Background(), sdk.StartWorkflowOptions{
		ID: r.WorkflowID(), TaskQueue: workflows.Queue(event.PriorityNormal), WorkflowRunTimeout: timeout,
		Memo: map[string]any{workflows.MemoEventID: r.ID},
	}, workflows.TypeProcessEvent, r, body)
	require.NoError(t, err)
}
