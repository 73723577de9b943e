package outbox_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/persistence/persistencetest"
)

// Replays have been behind a pause for so long that their dead letters may be discarded: each is, while all deliveries are
// canceled.
func TestABulkCancelRacesDiscards(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	db.Destination(1, delivery.Destination{InFlight: 500})
	const n = 400
	db.Queue(1, n)
	dead := persistencetest.Each(db.Lease(n, n), delivery.Final, "gone")
	for i := range dead {
		dead[i].Dead = true
	}
	db.Settle(dead...)
	_, err := db.Subscriptions.SetDestinationState(t.Context(), "d1", delivery.DestinationPaused, persistencetest.Ada)
	require.NoError(t, err)
	for _, s := range dead {
		require.NoError(t, db.Outbox.Redeliver(t.Context(), s.EventID, 1))
	}
	db.Exec(`UPDATE dead_letters SET replaying_since = now() - $1::interval`, 24*time.Hour)
	ids := persistencetest.Value[[]int64](db, `SELECT array_agg(id ORDER BY event_id) FROM dead_letters`)
	var g errgroup.Group
	for worker := range 3 {
		g.Go(func() error {
			for i := worker; i < n; i += 3 {
				err := db.DeadLetters.DiscardDeadLetter(t.Context(), ids[i], persistencetest.Ada)
				if err != nil && event.ClassOf(err) == event.ClassTransient {
					return err
				}
			}
			return nil
		})
	}
	g.Go(func() error {
		for {
			canceled, err := db.Outbox.CancelWaiting(t.Context(), delivery.Query{DestinationID: 1}, 50, persistencetest.Ada)
			if err != nil || canceled == 0 {
				return err
			}
		}
	})
	require.NoError(t, g.Wait())
	require.Equal(t, n, persistencetest.Value[int](db, `SELECT count(*) FROM dead_letters WHERE state = 'discarded'`))
}
