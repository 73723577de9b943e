package ingress

import (
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
