package ingress

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/ingress/intake"
)

// A definition has conditions under which an event is refused:
//   - the sender learns which one applies, with 400 or the definition's status, and nothing of the request is stored
//   - one such event in a batch is enough, and the answer names it
//   - a body that isn't JSON is null
//   - a condition that fails, or returns anything but true, refuses nothing
//   - unauthenticated senders learn none of it, and the operator sees the reason
func TestADefinitionRefusesEvents(t *testing.T) {
	t.Parallel()
	const definition = `
name: homemade
extends: standard-webhooks
batch: {items: events}
replies: {invalid: 422}
refuse:
  - {when: .body == null, message: the body is no JSON}
  - {when: '.body | has("type") | not', message: the event has no type}
  - {when: .body.note, message: never}
  - {when: .body.note | tonumber == 1, message: never}
`
	memory := NewRefusals()
	d := openDoor(t, definition, func(o *Options, _ *intake.Options) { o.Refusals = memory })
	send := func(body string, sign bool) reply {
		return d.deliver(t, "homemade", "/webhooks/homemade", body, sign, "webhook-id", "msg_1")
	}
	for body, message := range map[string]string{
		`no JSON`: "the body is no JSON",
		`{"events":[{"type":"a"},{"id":7},{"id":8}]}`: "event 2 of 3: the event has no type",
		`{"events":[{"id":7}]}`:                       "the event has no type",
	} {
		refused := send(body, true)
		require.Equal(t, 422, refused.status, body)
		require.Equal(t, code("invalid_event"), refused.Error.Code)
		require.Equal(t, message, refused.Error.Message)
		require.NotEmpty(t, refused.Error.RequestID)
		require.Equal(t, 401, send(body, false).status)
	}
	require.Empty(t, d.receipts("homemade"))
	seen := memory.Refusals("homemade")
	require.Len(t, seen, 1)
	require.Equal(t, "invalid_event", seen[0].Causes[0].Cause)

	accepted := send(`{"events":[{"type":"a","note":"no number"},{"type":"a","note":{}}]}`, true)
	require.Equal(t, 202, accepted.status, accepted.raw)
	require.Len(t, d.receipts("homemade"), 2)
}
