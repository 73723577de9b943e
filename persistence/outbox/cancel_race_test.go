package outbox_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/persistence/persistencetest"
)

// A bulk cancel races leases, outcomes and replays: whatever was sent is delivered, whatever is canceled was never sent, no more
// are canceled than requested, and no call fails.
func TestABulkCancelRacesSenders(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	db.Destination(1, delivery.Destination{InFlight: 100})
	const letters, waiting = 60, 600
	db.Queue(1, letters)
	dead := persistencetest.Each(db.Lease(letters, letters), delivery.Final, "gone")
	for i := range dead {
		dead[i].Dead = true
	}
	db.Settle(dead...)
	require.Equal(t, letters, persistencetest.Value[int](db, `SELECT count(*) FROM dead_letters WHERE state = 'open'`))
	db.Queue(1, waiting)

	var sent sync.Map
	var canceled atomic.Int64
	var done atomic.Bool
	var g, senders errgroup.Group
	for range 2 {
		senders.Go(func() error {
			for {
				last := done.Load()
				jobs, _, err := db.Outbox.Lease(t.Context(), delivery.LeaseRequest{Limit: 10, Room: persistencetest.UpTo(10)})
				if err != nil {
					return err
				}
				for _, j := range jobs {
					sent.Store(j.Key, true)
				}
				if _, err := db.Outbox.Settle(t.Context(), persistencetest.Each(jobs, delivery.OK, "200")); err != nil {
					return err
				}
				if last && len(jobs) == 0 {
					return nil
				}
			}
		})
	}
	for range 2 {
		g.Go(func() error {
			for range 20 {
				n, err := db.Outbox.CancelWaiting(t.Context(), delivery.Query{DestinationID: 1}, 7, persistencetest.Ada)
				canceled.Add(n)
				if err != nil {
					return err
				}
				if n > 7 {
					t.Errorf("%d were canceled, at most 7 were to be", n)
				}
			}
			return nil
		})
	}
	g.Go(func() error {
		for _, s := range dead {
			err := db.Outbox.Redeliver(t.Context(), s.EventID, 1)
			if err != nil {
				return err
			}
		}
		return nil
	})
	g.Go(func() error {
		for _, s := range dead {
			_, err := db.Outbox.Resend(t.Context(), s.Key, persistencetest.Ada)
			if err != nil && event.CodeOf(err) != "delivery_under_way" {
				return err
			}
		}
		return nil
	})
	require.NoError(t, g.Wait())
	done.Store(true)
	require.NoError(t, senders.Wait())
	require.Zero(t, db.Waiting(1))
	t.Logf("%d canceled", canceled.Load())
	require.Positive(t, canceled.Load())
	require.Equal(t, canceled.Load(), persistencetest.Value[int64](db, `
SELECT sum((detail ->> 'canceled')::int) FROM audit_log WHERE detail ? 'canceled'`))
	require.Zero(t, persistencetest.Value[int](db, `SELECT count(*) FROM delivery_attempts WHERE ok AND generation = 0`),
		"only a success that comes after a cancel is an attempt of its own")
	for _, id := range persistencetest.Value[[]string](db, `
SELECT coalesce(array_agg(event_id::text), '{}') FROM deliveries WHERE status = 'canceled' AND generation = 0`) {
		_, was := sent.Load(delivery.Key{EventID: id, SubscriptionID: 1})
		require.False(t, was, "what was sent isn't canceled")
	}
	require.Zero(t, persistencetest.Value[int](db, `SELECT count(*) FROM dead_letters WHERE state IN ('open', 'replaying', 'exhausted')`))
}

// Deliveries with dead letters, which were sent again, are canceled one by one and in bulk: no call fails, and each dead letter
// is discarded.
func TestABulkCancelRacesSingleOnes(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	db.Destination(1, delivery.Destination{InFlight: 100})
	db.Queue(1, 100)
	dead := persistencetest.Each(db.Lease(100, 100), delivery.Final, "gone")
	for i := range dead {
		dead[i].Dead = true
	}
	db.Settle(dead...)
	_, err := db.Subscriptions.SetDestinationState(t.Context(), "d1", delivery.DestinationPaused, persistencetest.Ada)
	require.NoError(t, err)
	for _, s := range dead {
		_, err := db.Outbox.Resend(t.Context(), s.Key, persistencetest.Ada)
		require.NoError(t, err)
	}
	var g errgroup.Group
	g.Go(func() error {
		for i := range dead {
			_, err := db.Outbox.CancelDelivery(t.Context(), dead[len(dead)-1-i].Key, persistencetest.Ada)
			if err != nil && !errors.Is(err, event.ErrNotFound) {
				return err
			}
		}
		return nil
	})
	for range 3 {
		g.Go(func() error {
			for {
				n, err := db.Outbox.CancelWaiting(t.Context(), delivery.Query{DestinationID: 1}, 9, persistencetest.Ada)
				if err != nil || n == 0 {
					return err
				}
			}
		})
	}
	require.NoError(t, g.Wait())
	require.Zero(t, db.Waiting(1))
	require.Equal(t, 100, persistencetest.Value[int](db, `SELECT count(*) FROM dead_letters WHERE state = 'discarded'`))
	require.Zero(t, persistencetest.Value[int](db, `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`))
}
