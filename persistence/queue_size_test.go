package persistence_test

import (
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/persistence"
)

var deliveryRows = flag.Int("deliveries", 100_000, "how many deliveries and attempts there are where their number must not matter")

// However many deliveries have ended, and however many are behind a pause: frequent statements, those for each delivery, and
// lists read a few pages, and old deliveries are removed as whole partitions. `go test ./persistence -run HoweverMany -deliveries
// 5000000 -v` shows how long each takes.
func TestHoweverManyDeliveriesThereAre(t *testing.T) {
	t.Parallel()
	seen := &statements{}
	db := open(t, func(c *persistence.Config) { c.Tracer, c.StatementTimeout = seen, 10*time.Minute })
	db.fillQueue(*deliveryRows)
	const unused = 6
	db.destination(unused, delivery.Destination{})
	ctx := t.Context()
	require.NoError(t, db.Outbox.Rearm(ctx))
	ids := db.queue(2, 50)
	jobs, _, err := db.Outbox.Lease(ctx, delivery.LeaseRequest{Limit: 10})
	require.NoError(t, err)
	require.NotEmpty(t, jobs)

	for _, c := range []struct {
		name, of string
		most     int // pages
		run      func() error
	}{
		{"lease", "WITH room AS", 3000, func() error {
			return second2(db.Outbox.Lease(ctx, delivery.LeaseRequest{Limit: 50}))
		}},
		{"schedule next", "SET breaker = CASE WHEN n.transitions", 3000, func() error {
			db.queue(2, 1)
			return second2(db.Outbox.Lease(ctx, delivery.LeaseRequest{Limit: 50}))
		}},
		{"read of events", "WITH sized AS", 3000, func() error { return second2(db.Subscriptions.Messages(ctx, ids, 1<<20)) }},
		{"settle, first successes", "q.attempts = 0", 3000, func() error {
			return second(db.Outbox.Settle(ctx, each(jobs[:len(jobs)/2], delivery.OK, "200")))
		}},
		{"settle, any", "), late AS", 3000, func() error {
			return second(db.Outbox.Settle(ctx, each(jobs[len(jobs)/2:], delivery.Bad, "503")))
		}},
		{"rearm", "WITH RECURSIVE firsts", 3000, func() error { return db.Outbox.Rearm(ctx) }},
		{"conditions", "AS counted) AS q", 20_000, func() error { return second(db.Subscriptions.Conditions(ctx, []int64{1, 2, 3, 4, 5})) }},
		{"statistics", "WITH oldest AS", 25_000, func() error { return second(db.Outbox.DeliveryStats(ctx)) }},
		{"overdue", "min(next_at)", 100, func() error { return second2(db.Outbox.Overdue(ctx)) }},
		{"probe", "SET open_until = least", 100, func() error { return second(db.Subscriptions.ProbeDestination(ctx, "d2", ada)) }},
		{"list", "deliveries AS q", 5000, func() error { return second(db.Outbox.Deliveries(ctx, delivery.Query{Limit: 50})) }},
		{"list of what failed", "deliveries AS q", 5000, func() error {
			return second(db.Outbox.Deliveries(ctx, delivery.Query{Status: delivery.Failed, Limit: 50}))
		}},
		{"list of a subscription", "deliveries AS q", 5000, func() error {
			return second(db.Outbox.Deliveries(ctx, delivery.Query{SubscriptionID: 3, Limit: 50}))
		}},
		{"list of a subscription without any", "deliveries AS q", 300, func() error {
			return second(db.Outbox.Deliveries(ctx, delivery.Query{SubscriptionID: unused, Limit: 50}))
		}},
		{"health", "percentile_disc", 1500, func() error { return second(db.Outbox.RecentDeliveries(ctx, []int64{1, 2, 3, 4, 5})) }},
		{"health of one without any", "percentile_disc", 50, func() error {
			return second(db.Outbox.RecentDeliveries(ctx, []int64{unused}))
		}},
	} {
		seen.forget()
		began := time.Now()
		require.NoError(t, c.run(), c.name)
		took := time.Since(began)
		read := db.pagesOf(t, seen, c.of)
		t.Logf("%-24s %8.1f ms, %6d pages", c.name, float64(took)/float64(time.Millisecond), read)
		assert.Less(t, read, c.most, c.name)
	}

	began := time.Now()
	gone := value[int](db, `SELECT drop_delivery_partitions(now() + interval '22 days')`)
	t.Logf("purge of %d rows: %s", gone, time.Since(began))
	require.Greater(t, gone, *deliveryRows)
	require.Less(t, value[int](db, `SELECT count(*) FROM deliveries`), *deliveryRows/2)
}

// pagesOf runs the first statement with a text again, and returns how many pages it reads.
func (d *database) pagesOf(t *testing.T, seen *statements, text string) int {
	t.Helper()
	d.exec(`SET plan_cache_mode = force_generic_plan`)
	d.exec(`BEGIN`)
	defer d.exec(`ROLLBACK`)
	d.exec(`SET LOCAL enable_seqscan = off`)
	return blocksRead(t, seen.planOf(t, d, "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, COSTS OFF) ",
		func(sql string) bool { return strings.Contains(sql, text) }))
}

func second2[S, T any](_ S, _ T, err error) error { return err }

// fillQueue inserts n deliveries that have ended in the four weeks from Monday on, with as many attempts; and n/5 pending ones
// for five destinations, four of which are paused.
func (d *database) fillQueue(n int) {
	d.t.Helper()
	for id := range int64(5) {
		d.destination(id+1, delivery.Destination{InFlight: 1000})
		if id != 1 {
			_, err := d.Subscriptions.SetDestinationState(d.t.Context(), "d"+string(rune('1'+id)), delivery.DestinationPaused, ada)
			require.NoError(d.t, err)
		}
	}
	const ended = `
SELECT (lpad(to_hex(((extract(epoch FROM date_trunc('week', now(), 'UTC')) + i * 4 * 604800.0 / $1::integer) * 1000)::bigint), 12, '0')
        || '7000' || '8000' || lpad(to_hex(i), 12, '0'))::uuid AS event_id, 1 + i % 5 AS subscription_id, i
  FROM generate_series(0, $1::integer - 1) AS i`
	for _, statement := range []string{`
INSERT INTO deliveries (event_id, subscription_id, destination_id, status, code, attempts, generation, ms, answer, queued_at)
SELECT event_id, subscription_id, subscription_id, CASE WHEN i % 100 = 0 THEN 'failed' ELSE 'delivered' END, '200', 1, 0, 3, 'ok', now()
  FROM (` + ended + `) AS e`, `
INSERT INTO delivery_attempts (event_id, subscription_id, lease, at, generation, ok, code, error, ms)
SELECT event_id, subscription_id, gen_random_uuid(), now(), 0, false, '503', 'the endpoint answered 503', 3 FROM (` + ended + `) AS e`,
	} {
		d.exec(statement, n)
	}
	d.exec(`
INSERT INTO delivery_queue (event_id, subscription_id, destination_id, due_at)
SELECT gen_random_uuid(), 3 + i % 3, 3 + i % 3, now() - i * interval '1 ms' FROM generate_series(1, $1::integer) AS i`, n/5)
	d.exec(`VACUUM (ANALYZE) deliveries, delivery_attempts, delivery_queue`)
}
