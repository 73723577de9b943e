package ingress

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/ingress/queues"
	"holdfast/providers/reading"
)

// A message over the limit is committed as a dead letter with its beginning, and can be acknowledged: it blocks nothing. A second
// delivery is a duplicate.
func TestAMessageOverTheLimitBlocksNothing(t *testing.T) {
	d := openDoor(t, `
name: homemade
queues: [{broker: kafka, url: "kafka://kafka.internal", name: orders}]
type: .body.type
key: {parts: [.body.id]}
`)
	m := queues.Message{
		Provider: "homemade", Body: []byte(`{"id":"1","type":"paid"}` + strings.Repeat(" ", event.MaxBody)), Position: "orders:2:17",
	}
	outcome, err := d.server.AcceptMessage(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, "accepted", outcome)
	receipts := d.receipts("homemade")
	require.Len(t, receipts, 1)
	r := receipts[0]
	require.Len(t, d.bodies[r.WorkflowID()], 64<<10)
	p, _ := d.catalogue.Lookup("homemade")
	_, err = p.Parse(r, d.bodies[r.WorkflowID()])
	require.Equal(t, "too_large", event.CodeOf(err))
	require.ErrorContains(t, err, "orders:2:17")

	outcome, err = d.server.AcceptMessage(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, "duplicate", outcome)
}

// A message that was delivered often, and never acknowledged, may crash its readers: no expression runs before its commit. In an
// outage or a row of restarts this happens to any message, so it becomes no dead letter: the parse step identifies it.
func TestAMessageThatWasDeliveredOftenIsReadAfterItsCommit(t *testing.T) {
	d := openDoor(t, `
name: homemade
queues: [{broker: nats, url: "nats://nats.internal", name: ORDERS}]
type: .body.type
key: {parts: [.body.id]}
`)
	p, _ := d.catalogue.Lookup("homemade")
	accept := func(m queues.Message) event.Receipt {
		outcome, err := d.server.AcceptMessage(t.Context(), m)
		require.NoError(t, err)
		require.Equal(t, "accepted", outcome)
		receipts := d.receipts("homemade")
		i := slices.IndexFunc(receipts, func(r event.Receipt) bool { return bytes.Equal(d.bodies[r.WorkflowID()], m.Body) })
		require.GreaterOrEqual(t, i, 0, "the whole body is stored")
		return receipts[i]
	}
	m := queues.Message{Provider: "homemade", Body: []byte(`{"id":"1","type":"paid"}`), Position: "ORDERS:17", Redeliveries: 10}
	require.Equal(t, "1", accept(m).Key)
	m.Body, m.Redeliveries = []byte(`{"id":"2","type":"paid"}`), 11
	unread := accept(m)
	require.Equal(t, []any{event.KeyFromNothing, reading.UnknownType}, []any{unread.KeyFrom, unread.Type})
	parsed, err := p.Parse(unread, m.Body)
	require.NoError(t, err)
	require.Equal(t, []string{"2", "paid"}, []string{parsed.Identity.Key, parsed.Type})

	outcome, err := d.server.AcceptMessage(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, "duplicate", outcome)
}
