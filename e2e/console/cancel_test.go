package console

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/operator/access"
)

// Deliveries waiting for a paused destination are canceled from its page, and by the command; the next event still waits.
func TestPendingDeliveriesAreCanceledTogether(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	holdfast.run(t, "destination", "pause", r.name)
	send := func() string { return holdfast.send(t, uniqueID("evt"), fmt.Sprintf(`{"type":%q}`, r.eventType)) }
	first, second := send(), send()
	r.await(t, first, "pending")
	r.await(t, second, "pending")

	b := newBrowser(t).as(access.RoleOperator)
	b.open(r.path())
	b.submit(`section[aria-labelledby=waiting] p.actions a`)
	require.Equal(t, "Cancel 2 deliveries · Holdfast", b.title())
	b.requireAccessible()
	late := send()
	r.await(t, late, "pending")
	b.fill("#reason", "they deploy")
	b.submit("form.confirm button")
	require.Contains(t, b.page(), "Canceled 2 deliveries.")
	r.await(t, first, "canceled")
	r.await(t, second, "canceled")
	r.await(t, late, "pending")
	require.Equal(t, 1, b.count(`a[href^="/console/deliveries/cancel?"]`), "the list of the destination leads there too")

	var counted, done struct{ Waiting, Canceled int }
	require.NoError(t, json.Unmarshal([]byte(holdfast.run(t, "delivery", "cancel", "--destination", r.name, "--dry-run", "--json")), &counted))
	require.Equal(t, []int{1, 0}, []int{counted.Waiting, counted.Canceled})
	r.await(t, late, "pending")
	require.NoError(t, json.Unmarshal([]byte(holdfast.run(t, "delivery", "cancel", "--subscription", r.name, "--yes", "--json")), &done))
	require.Equal(t, []int{1, 1}, []int{done.Waiting, done.Canceled})
	r.await(t, late, "canceled")
	require.Contains(t, holdfast.run(t, "delivery", "cancel", "--destination", r.name), "waiting: 0 deliveries")
	require.Zero(t, r.got.Load())
}

// A processed event is replayed to all of its subscriptions from its page, which shows how many there are.
func TestAProcessedEventIsReplayed(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	id := r.send(t, "delivered")
	b := newBrowser(t).as(access.RoleOperator)
	b.open("/console/events/" + id)
	b.submit(`.heading a[href$="/resend-all"]`)
	b.requireAccessible()
	require.Contains(t, b.page(), "entities don't change")
	require.Contains(t, b.page(), "delivered, to "+r.name)
	b.submit("form.confirm button")
	require.Equal(t, "/console/events/"+id, b.path())
	require.Contains(t, b.page(), "were resent.")
	eventually(t, "the second delivery", func() error {
		if n := r.got.Load(); n != 2 {
			return fmt.Errorf("it got %d", n)
		}
		return nil
	})
}
