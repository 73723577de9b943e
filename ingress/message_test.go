package ingress

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/ingress/queues"
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

// A message that was delivered often, and never acknowledged, may crash its readers: it is committed unread, as a dead letter with
// its whole body, and can be acknowledged.
func TestAMessageThatIsNeverAcknowledgedIsNotRead(t *testing.T) {
	d := openDoor(t, `
name: homemade
queues: [{broker: nats, url: "nats://nats.internal", name: ORDERS}]
type: .body.type
key: {parts: [.body.id]}
`)
	p, _ := d.catalogue.Lookup("homemade")
	parse := func(m queues.Message) error {
		outcome, err := d.server.AcceptMessage(t.Context(), m)
		require.NoError(t, err)
		require.Equal(t, "accepted", outcome)
		receipts := d.receipts("homemade")
		i := slices.IndexFunc(receipts, func(r event.Receipt) bool { return bytes.Equal(d.bodies[r.WorkflowID()], m.Body) })
		require.GreaterOrEqual(t, i, 0, "the whole body is stored")
		_, err = p.Parse(receipts[i], m.Body)
		return err
	}
	m := queues.Message{Provider: "homemade", Body: []byte(`{"id":"1","type":"paid"}`), Position: "ORDERS:17", Redeliveries: 10}
	require.NoError(t, parse(m))
	m.Body, m.Redeliveries = []byte(`{"id":"2","type":"paid"}`), 11
	err := parse(m)
	require.Equal(t, "never_acknowledged", event.CodeOf(err))
	require.Equal(t, event.ClassRejected, event.ClassOf(err))
	require.ErrorContains(t, err, "ORDERS:17 was delivered 11 times before")

	outcome, err := d.server.AcceptMessage(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, "duplicate", outcome)
}
