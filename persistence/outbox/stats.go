package outbox

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/delivery"
	"holdfast/persistence/postgres"
)

const (
	// countOpen counts up to $1 deliveries, beginning with the oldest events. If there are more, it scales the counts up to
	// PostgreSQL's estimate of the total: a paused destination may have millions, and this runs often.
	countOpen = `
WITH oldest AS MATERIALIZED (
     SELECT ` + openStatus + ` AS status, q.queued_at
       FROM (SELECT * FROM delivery_queue ORDER BY event_id, subscription_id LIMIT $1::bigint) AS q
), share AS (
     SELECT greatest(1, (SELECT reltuples FROM pg_class WHERE oid = 'delivery_queue'::regclass) / count(*)) AS factor
       FROM oldest HAVING count(*) >= $1::bigint
)
SELECT status, (count(*) * coalesce((SELECT factor FROM share), 1))::bigint, min(queued_at) FROM oldest GROUP BY status`

	countDestinations = `
SELECT coalesce(s.breaker, 'closed'), coalesce(s.state, 'ready'), count(*)
  FROM destinations AS d LEFT JOIN destination_states AS s ON s.destination_id = d.id
 WHERE d.deleted_at IS NULL GROUP BY 1, 2`

	namesFailing = `
SELECT d.name, s.breaker, s.failure FROM destination_states AS s JOIN destinations AS d ON d.id = s.destination_id
 WHERE s.failing_since IS NOT NULL AND d.deleted_at IS NULL ORDER BY s.failing_since LIMIT $1`

	countFailing = `
SELECT count(*) FROM destination_states AS s JOIN destinations AS d ON d.id = s.destination_id
 WHERE s.failing_since IS NOT NULL AND d.deleted_at IS NULL`

	oldestRotation = `SELECT min(secrets_at) FROM destinations WHERE deleted_at IS NULL AND secrets IS NOT NULL`

	countUndelivered = `
SELECT count(*) FROM dead_letters WHERE subscription_id > 0 AND state IN ('open', 'replaying', 'exhausted')`

	// Each subscription's part of the index is read alone: those of all would read the table.
	countOpenOf = `
SELECT id, waiting.n FROM unnest($1::bigint[]) AS s (id)
 CROSS JOIN LATERAL (SELECT count(*) AS n FROM delivery_queue WHERE subscription_id = s.id) AS waiting WHERE n > 0`
)

// CountOpen counts the open deliveries of subscriptions, by ID. Those without any are left out.
func (s *Store) CountOpen(ctx context.Context, subscriptionIDs []int64) (map[int64]int64, error) {
	counts := map[int64]int64{}
	var id, n int64
	_, err := pgx.ForEachRow(s.db.Rows(ctx, countOpenOf, subscriptionIDs), []any{&id, &n}, func() error {
		counts[id] = n
		return nil
	})
	return counts, postgres.Failure("count deliveries of subscriptions", err)
}

// CountFailing counts failing destinations.
func (s *Store) CountFailing(ctx context.Context) (n int64, err error) {
	err = s.db.QueryRow(ctx, countFailing).Scan(&n)
	return n, postgres.Failure("count failing destinations", err)
}

// countedOpen is how many open deliveries are counted exactly.
const countedOpen = 20_000

// DeliveryStats counts open deliveries only; from 20,000 on, the counts are estimates.
func (s *Store) DeliveryStats(ctx context.Context) (delivery.Stats, error) {
	stats := delivery.Stats{
		Open: []delivery.OpenCount{}, Breakers: map[delivery.BreakerState]int64{}, States: map[delivery.DestinationState]int64{},
		FailingBreakers: map[string]delivery.BreakerState{},
	}
	b := &pgx.Batch{}
	b.Queue(countOpen, countedOpen).Query(func(rows pgx.Rows) (err error) {
		stats.Open, err = pgx.AppendRows(stats.Open, rows, func(row pgx.CollectableRow) (c delivery.OpenCount, err error) {
			err = row.Scan(&c.Status, &c.Count, &c.Oldest)
			return c, err
		})
		return err
	})
	var breaker delivery.BreakerState
	var state delivery.DestinationState
	var n int64
	b.Queue(countDestinations).Query(postgres.ForEach([]any{&breaker, &state, &n}, func() {
		stats.Breakers[breaker] += n
		stats.States[state] += n
	}))
	var name, why string
	b.Queue(namesFailing, delivery.MaxFailing).Query(postgres.ForEach([]any{&name, &breaker, &why}, func() {
		stats.Failing = append(stats.Failing, name)
		stats.FailingReasons = append(stats.FailingReasons, why)
		stats.FailingBreakers[name] = breaker
	}))
	b.Queue(oldestRotation).QueryRow(func(row pgx.Row) error { return row.Scan(&stats.OldestSecret) })
	b.Queue(countUndelivered).QueryRow(func(row pgx.Row) error { return row.Scan(&stats.DeadLetters) })
	return stats, postgres.Failure("count deliveries", s.db.SendRead(ctx, b))
}

// longestDue returns how long the first ready destination has been due: seconds at most if a dispatcher runs.
const longestDue = `
SELECT coalesce(statement_timestamp() - min(next_at), '0') FROM destination_states
 WHERE state = 'ready' AND next_at <= statement_timestamp()`

const countFanOuts = `SELECT (SELECT count(*) FROM delivery_fanouts) + (SELECT count(*) FROM delivery_unmatched)`

// Overdue returns how long the first destination has been due, which is short if any dispatcher runs, and how many events wait
// for their fan-out to many subscriptions.
func (s *Store) Overdue(ctx context.Context) (overdue time.Duration, fanOuts int64, err error) {
	b := &pgx.Batch{}
	b.Queue(longestDue).QueryRow(func(row pgx.Row) error { return row.Scan(&overdue) })
	b.Queue(countFanOuts).QueryRow(func(row pgx.Row) error { return row.Scan(&fanOuts) })
	return overdue, fanOuts, postgres.Failure("check for overdue deliveries", s.db.SendRead(ctx, b))
}

// recentOf reads the last ended deliveries of some subscriptions of each destination, so that it reads a bounded number of rows.
// Deliveries canceled by an operator don't count.
//
// With = instead of BETWEEN, PostgreSQL drops subscription_id from ORDER BY, and reads all deliveries by event for a subscription
// without any.
const recentOf = `
SELECT d.id, count(*) FILTER (WHERE last.status = 'delivered'),
       coalesce(percentile_disc(0.95) WITHIN GROUP (ORDER BY last.ms) FILTER (WHERE last.status = 'delivered'), 0),
       max(last.done_at)
  FROM unnest($1::bigint[]) AS d (id)
 CROSS JOIN LATERAL (SELECT id FROM subscriptions
                      WHERE destination_id = d.id AND deleted_at IS NULL ORDER BY id DESC LIMIT 10) AS sub
 CROSS JOIN LATERAL (
       SELECT status, ms, done_at FROM deliveries
        WHERE subscription_id BETWEEN sub.id AND sub.id ORDER BY subscription_id DESC, event_id DESC LIMIT 100) AS last
 WHERE last.status <> 'canceled'
 GROUP BY d.id`

// RecentDeliveries summarizes the last finished deliveries of destinations, by the destination's ID: up to 100 for each of the
// ten newest subscriptions. Destinations without any are left out.
func (s *Store) RecentDeliveries(ctx context.Context, destinations []int64) (map[int64]delivery.Recent, error) {
	by := map[int64]delivery.Recent{}
	all, err := pgx.CollectRows(s.db.Rows(ctx, recentOf, destinations), func(row pgx.CollectableRow) (r delivery.Recent, err error) {
		err = row.Scan(&r.DestinationID, &r.Delivered, &r.P95, &r.LastAt)
		return r, err
	})
	for _, r := range all {
		by[r.DestinationID] = r
	}
	return by, postgres.Failure("read recent deliveries", err)
}
