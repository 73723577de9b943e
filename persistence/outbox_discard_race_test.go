package persistence_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"holdfast/delivery"
	"holdfast/event"
)

// Replays have been behind a pause for so long that their dead letters may be discarded: each is, while all deliveries are
// canceled.
func TestABulkCancelRacesDiscards(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.destination(1, delivery.Destination{InFlight: 500})
	const n = 400
	db.queue(1, n)
	dead := each(db.lease(n, n), delivery.Final, "gone")
	for i := range dead {
		dead[i].Dead = true
	}
	db.settle(dead...)
	_, err := db.Subscriptions.SetDestinationState(t.Context(), "d1", delivery.DestinationPaused, ada)
	require.NoError(t, err)
	for _, s := range dead {
		require.NoError(t, db.Outbox.Redeliver(t.Context(), s.EventID, 1))
	}
	db.exec(`UPDATE dead_letters SET replaying_since = now() - $1::interval`, 24*time.Hour)
	ids := value[[]int64](db, `SELECT array_agg(id ORDER BY event_id) FROM dead_letters`)
	var g errgroup.Group
	for worker := range 3 {
		g.Go(func() error {
			for i := worker; i < n; i += 3 {
				err := db.DeadLetters.DiscardDeadLetter(t.Context(), ids[i], ada)
				if err != nil && event.ClassOf(err) == event.ClassTransient {
					return err
				}
			}
			return nil
		})
	}
	g.Go(func() error {
		for {
			canceled, err := db.Outbox.CancelWaiting(t.Context(), delivery.Query{DestinationID: 1}, 50, ada)
			if err != nil || canceled == 0 {
				return err
			}
		}
	})
	require.NoError(t, g.Wait())
	require.Equal(t, n, value[int](db, `SELECT count(*) FROM dead_letters WHERE state = 'discarded'`))
}
