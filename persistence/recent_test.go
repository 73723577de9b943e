package persistence_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
)

// The durations of a destination are those of its last finished deliveries: canceled ones don't count, nor do older or open ones.
func TestRecentDeliveriesOfReceivers(t *testing.T) {
	t.Parallel()
	db := open(t)
	good, mixed, idle := db.destination(1, delivery.Destination{}), db.destination(2, delivery.Destination{}), db.destination(3, delivery.Destination{})
	db.queue(good, 150)
	db.deliver("delivered")
	db.queue(mixed, 10)
	db.deliver("failed")
	db.queue(mixed, 30)
	db.deliver("delivered")
	db.queue(mixed, 5)
	db.deliver("canceled")
	db.queue(mixed, 5)
	db.exec(`UPDATE delivery_queue SET attempts = 1`)
	db.exec(`UPDATE deliveries SET ms = 900 WHERE subscription_id = 2 AND status = 'delivered' AND
event_id IN (SELECT event_id FROM deliveries WHERE subscription_id = 2 AND status = 'delivered' ORDER BY event_id LIMIT 2)`)
	recent, err := db.Outbox.RecentDeliveries(t.Context(), []int64{good, mixed, idle, 99})
	require.NoError(t, err)
	require.Len(t, recent, 2)
	require.EqualValues(t, 100, recent[good].Delivered, "no more are looked at")
	require.Equal(t, 1, recent[good].P95)
	require.EqualValues(t, 30, recent[mixed].Delivered)
	require.Equal(t, 900, recent[mixed].P95)
	require.False(t, recent[mixed].LastAt.IsZero())
}

// The finished deliveries of a destination are listed, however many newer ones are pending.
func TestFinishedDeliveriesAreListedBesidePendingOnes(t *testing.T) {
	t.Parallel()
	db := open(t)
	id := db.destination(1, delivery.Destination{})
	db.queue(id, 3)
	db.deliver("delivered")
	db.queue(id, 30)
	db.exec(`UPDATE delivery_queue SET event_id = ('ffffffff' || right(event_id::text, 28))::uuid`)
	list := func(q delivery.Query) (statuses []delivery.Status) {
		q.DestinationID, q.Limit = id, 20
		all, err := db.Outbox.Deliveries(t.Context(), q)
		require.NoError(t, err)
		for _, d := range all {
			statuses = append(statuses, d.Status)
		}
		return statuses
	}
	require.Equal(t, []delivery.Status{delivery.Delivered, delivery.Delivered, delivery.Delivered}, list(delivery.Query{Ended: true}))
	require.Len(t, list(delivery.Query{Open: true}), 20)
	require.NotContains(t, list(delivery.Query{}), delivery.Delivered, "the newest 20 of all are pending")
}
