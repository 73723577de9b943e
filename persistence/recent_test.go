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
