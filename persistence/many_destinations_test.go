package persistence_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/persistence"
)

// One destination with 20,000 deliveries waiting and a thousand with twenty each, all failing for an hour: the work on a delivery
// reads as many pages in both, and periodic work a few for each destination, however many wait.
func TestHoweverManyDestinationsThereAre(t *testing.T) {
	t.Parallel()
	const waiting = 20_000
	for _, destinations := range []int{1, 1000} {
		t.Run(fmt.Sprint(destinations), func(t *testing.T) {
			t.Parallel()
			seen := &statements{}
			db := open(t, func(c *persistence.Config) { c.Tracer, c.StatementTimeout = seen, 10*time.Minute })
			db.fillDestinations(destinations, waiting)
			ctx := t.Context()
			jobs := db.lease(50, 1000)
			require.Len(t, jobs, 50)
			for _, c := range []struct {
				name, of string
				most     int // pages
				run      func() error
			}{
				{"lock due", "FOR UPDATE OF s SKIP LOCKED", 500, func() error {
					db.Outbox.Signal()
					return second2(db.Outbox.Lease(ctx, delivery.LeaseRequest{Limit: 50}))
				}},
				{"lease", "WITH room AS", 3000, func() error {
					return second2(db.Outbox.Lease(ctx, delivery.LeaseRequest{Limit: 50}))
				}},
				{"schedule next", "SET breaker = CASE WHEN n.transitions", 3000, func() error {
					return second2(db.Outbox.Lease(ctx, delivery.LeaseRequest{Limit: 50}))
				}},
				{"next due", "ORDER BY next_at LIMIT 1", 50, func() error {
					return second2(db.Outbox.Lease(ctx, delivery.LeaseRequest{Limit: 50}))
				}},
				{"settle", "), late AS", 3000, func() error {
					return second(db.Outbox.Settle(ctx, each(jobs, delivery.Bad, "503")))
				}},
				{"rearm", "WITH RECURSIVE firsts", 200 + 3*destinations, func() error { return db.Outbox.Rearm(ctx) }},
				{"statistics", "WITH oldest AS", 25_000, func() error { return second(db.Outbox.DeliveryStats(ctx)) }},
				{"overdue", "min(next_at)", 100, func() error { return second2(db.Outbox.Overdue(ctx)) }},
				{"failing", "failing_since <=", 200 + destinations, func() error {
					return second(db.Subscriptions.Failing(ctx, time.Minute))
				}},
				{"expire", "q.queued_at < k.before", 200 + 8*destinations, func() error {
					return second(db.Outbox.ExpireDeliveries(ctx))
				}},
				{"cancel deleted", "'canceled', 'deleted'", 200 + 4*destinations, func() error {
					return second(db.Outbox.CancelDeleted(ctx))
				}},
			} {
				seen.forget()
				require.NoError(t, c.run(), c.name)
				read := db.pagesOf(t, seen, c.of)
				t.Logf("%-16s %6d pages", c.name, read)
				if read > c.most {
					t.Errorf("%s reads %d pages, more than %d", c.name, read, c.most)
				}
			}
		})
	}
}

// fillDestinations inserts destinations that have been failing for an hour, with deliveries that wait.
func (d *database) fillDestinations(destinations, waiting int) {
	d.t.Helper()
	d.exec(`
INSERT INTO destinations (id, name, settings, version) OVERRIDING SYSTEM VALUE
SELECT i, 'd' || i, '{"in_flight": 1000}', i FROM generate_series(1, $1::integer) AS i`, destinations)
	d.exec(`
INSERT INTO subscriptions (id, name, destination_id, settings, active, version) OVERRIDING SYSTEM VALUE
SELECT id, 's' || id, id, '{}', true, id FROM destinations`)
	d.exec(`INSERT INTO destination_states (destination_id, failing_since) SELECT id, now() - interval '1 hour' FROM destinations`)
	d.exec(`
INSERT INTO delivery_queue (event_id, subscription_id, destination_id, due_at)
SELECT gen_random_uuid(), d, d, now() - i * interval '1 ms' FROM (
       SELECT i, 1 + i % $1::integer AS d FROM generate_series(1, $2::integer) AS i) AS all_of_them`, destinations, waiting)
	d.exec(`VACUUM (ANALYZE) delivery_queue, destination_states, destinations, subscriptions`)
	require.NoError(d.t, d.Outbox.Rearm(d.t.Context()))
}
