package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/workflows"
)

// lostEvents counts the dead letters that wait for the sender.
const lostEvents = "SELECT count(*) FROM dead_letters WHERE state IN ('open', 'exhausted') AND error_code = 'body_lost'"

// A run is deleted before a worker has stored its event:
//   - the sweep reports the acknowledged event as a dead letter that says that its body is lost, and a replay changes nothing
//   - the event that the sender sends again is processed, once, and resolves the dead letter
//   - an event that a worker has stored meanwhile leaves nothing behind
func TestADeletedRunLeavesADeadLetter(t *testing.T) {
	t.Parallel()
	i := newInstallation(t, "HOLDFAST_REPLAY_SWEEP_INTERVAL=1s")
	n := i.start(t, "ingress")
	body := someEvent()
	lost, kept := n.send(t, body), n.send(t, someEvent())
	require.Equal(t, 202, lost.status, string(lost.body))
	require.Equal(t, 202, kept.status, string(kept.body))
	workflowID := lost.Events[0].WorkflowID
	i.runTool(t, "temporal", "workflow", "delete", "--workflow-id", workflowID)
	n.terminate(t) // which looks up what it remembers, and doesn't wait
	require.Equal(t, 2, i.count(t, "SELECT count(*) FROM accepted_events"))

	w := i.start(t, "worker")
	i.awaitCount(t, time.Minute, 1, lostEvents+" AND event_id = $1", lost.Events[0].EventID)
	i.awaitCount(t, time.Minute, 1, processedEvents)
	i.awaitCount(t, time.Minute, 0, "SELECT count(*) FROM accepted_events")
	i.replay(t, "sweep_accepted", i.latestOf(t, workflows.TypeSweepRuns, "Completed"))
	require.Contains(t, w.metrics(t), `holdfast_sweep_dead_letters_total{status="deleted"} 1`)
	out, err := i.run(t, "event", "show", lost.Events[0].EventID)
	require.NoError(t, err, out)
	require.Contains(t, out, "have the provider send it again")

	id := i.count(t, "SELECT id FROM dead_letters")
	out, err = i.run(t, "dlq", "replay", fmt.Sprint(id), "--wait")
	require.Error(t, err, out)
	require.Contains(t, out, "body_lost")
	i.awaitCount(t, time.Minute, 1, lostEvents+" AND failures = 2")

	n = i.start(t, "ingress")
	again := n.send(t, body)
	require.Contains(t, []int{200, 202}, again.status, string(again.body))
	i.awaitCount(t, time.Minute, 2, processedEvents)
	i.awaitCount(t, time.Minute, 0, "SELECT count(*) FROM dead_letters WHERE state <> 'resolved'")
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM dead_letters WHERE state = 'resolved'"))
}

// With HOLDFAST_INGRESS_ACK=stored, the copy of an event whose run is deleted runs it again, so no receipt is needed.
func TestACopyOutlivesADeletedRun(t *testing.T) {
	t.Parallel()
	i := newInstallation(t, "HOLDFAST_REPLAY_SWEEP_INTERVAL=1s")
	n := i.start(t, "ingress", "HOLDFAST_INGRESS_ACK=stored")
	sent := n.send(t, someEvent())
	require.Equal(t, 202, sent.status, string(sent.body))
	i.runTool(t, "temporal", "workflow", "delete", "--workflow-id", sent.Events[0].WorkflowID)
	n.terminate(t)
	require.Zero(t, i.count(t, "SELECT count(*) FROM accepted_events"))
	i.exec(t, "UPDATE inbox SET due_at = now()")
	i.start(t, "worker")
	i.awaitCount(t, time.Minute, 1, processedEvents+" AND id = $1", sent.Events[0].EventID)
	i.awaitDrained(t, 1)
	require.Zero(t, i.count(t, "SELECT count(*) FROM dead_letters WHERE state <> 'resolved'"))
}
