package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// With HOLDFAST_INGRESS_ACK=stored, an acknowledged event is in both stores:
//   - while either of them is down, the response is 503, and the ingress isn't ready
//   - after Temporal has lost one event, and the database another, a worker processes both, once
//   - a definition with the bulk lane, and an ingress without a database, are refused
func TestAnAcknowledgedEventOutlivesEitherStore(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	const stored = "HOLDFAST_INGRESS_ACK=stored"
	for _, down := range []string{"TEMPORAL_ADDRESS=127.0.0.1:1", "DATABASE_URL=postgres://127.0.0.1:1/none?sslmode=disable"} {
		n := i.launch(t, "ingress", stored, down)
		eventually(t, time.Minute, "it serves", func() error { _, err := n.post("/webhooks/stripe", nil); return err })
		require.Equal(t, 503, n.send(t, someEvent()).status, down)
		var ready any
		require.Equal(t, 503, get(t, n.operator+"/readyz", &ready), down)
		n.kill()
	}

	out, err := i.runWith(t, []string{stored, "DATABASE_URL="}, "ingress")
	require.Error(t, err)
	require.Contains(t, out, "set DATABASE_URL")
	out, err = newBulkInstallation(t).runWith(t, []string{stored}, "ingress")
	require.Error(t, err)
	require.Contains(t, out, "stripe sends events to the bulk lane")

	n := i.start(t, "ingress", stored)
	bodies := [][]byte{someEvent(), someEvent()}
	var ids, workflows []string
	for _, body := range bodies {
		a := n.send(t, body)
		require.Equal(t, 202, a.status, string(a.body))
		ids, workflows = append(ids, a.Events[0].EventID), append(workflows, a.Events[0].WorkflowID)
	}
	again := n.send(t, bodies[0])
	require.Equal(t, 200, again.status, string(again.body))
	require.Equal(t, 2, i.count(t, "SELECT count(*) FROM inbox WHERE lane = 'copy' AND event_id = ANY ($1)", ids))

	i.runTool(t, "temporal", "workflow", "terminate", "--workflow-id", workflows[0], "--reason", "lost")
	i.forget(t, workflows[0], "Terminated")
	i.exec(t, "DELETE FROM inbox WHERE event_id = '"+ids[1]+"'")
	i.exec(t, "UPDATE inbox SET due_at = now()")
	i.start(t, "worker")
	i.awaitDrained(t, 3) // one of them Temporal had accepted, while the database was down
	require.Equal(t, 2, i.count(t, "SELECT count(*) FROM events WHERE id = ANY ($1)", ids))
}
