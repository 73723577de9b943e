package outbox_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/persistence/persistencetest"
)

// A subscription is deleted, with its destination, while a probe is in flight: whatever the outcome of the probe, before or after
// the sweep, the queue is empty and nothing is leased afterwards.
func TestADeletionWhileAProbeIsUnderWay(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	for name, of := range map[string]struct {
		kind  delivery.Kind
		swept bool
		want  delivery.Status
	}{
		"fails after the sweep":     {delivery.Bad, true, delivery.Canceled},
		"fails before the sweep":    {delivery.Bad, false, delivery.Canceled},
		"is asked for a pause":      {delivery.Busy, true, delivery.Canceled},
		"is told to stop":           {delivery.Gone, false, delivery.Canceled},
		"succeeds after the sweep":  {delivery.OK, true, delivery.Delivered},
		"succeeds before the sweep": {delivery.OK, false, delivery.Delivered},
	} {
		db.Exec(`TRUNCATE destinations, subscriptions, destination_states, delivery_queue, deliveries`)
		db.Destination(1, delivery.Destination{})
		db.Exec(`UPDATE destinations SET name = 's1'`)
		ids := db.Queue(1, 3)
		fails(db, db.Lease(10, 10))
		db.Passes(1, 31*time.Second)
		probe := db.Lease(10, 10)
		require.Len(t, probe, 1, name)
		if of.swept {
			gone, err := db.Subscriptions.DeleteSubscription(t.Context(), "s1", persistencetest.Admin)
			require.NoError(t, err)
			require.EqualValues(t, 3, gone.Canceled, name)
		} else {
			db.Exec(`UPDATE subscriptions SET deleted_at = now(), version = 500`)
			db.Exec(`UPDATE destinations SET deleted_at = now(), version = 500`)
		}
		ended := persistencetest.Became(probe[0], of.kind, "x")
		ended.DueAt = probe[0].WaitsUntil
		db.Settle(ended)
		require.NoError(t, db.Outbox.Rearm(t.Context()))
		db.Passes(1, time.Hour)
		require.Empty(t, db.Lease(10, 10), name)
		_, err := db.Outbox.CancelDeleted(t.Context())
		require.NoError(t, err)
		require.Zero(t, db.Waiting(1), name)
		require.Empty(t, db.Lease(10, 10), name)
		of1, err := db.Outbox.Delivery(t.Context(), delivery.Key{EventID: probe[0].EventID, SubscriptionID: 1})
		require.NoError(t, err)
		require.Equal(t, of.want, of1.Status, name)
		require.Equal(t, 3, persistencetest.Value[int](db, `SELECT count(*) FROM deliveries WHERE event_id = ANY ($1::uuid[])`, ids))
	}
}
