package outbox

import (
	"context"

	"github.com/jackc/pgx/v5"

	"holdfast/delivery"
	"holdfast/persistence/postgres"
)

// recentOf reads the last ended deliveries of some subscriptions of each destination, so that it reads a bounded number of rows.
// Deliveries canceled by an operator don't count.
const recentOf = `
SELECT d.id, count(*), count(*) FILTER (WHERE last.status = 'delivered'),
       coalesce(percentile_disc(0.95) WITHIN GROUP (ORDER BY last.ms) FILTER (WHERE last.status = 'delivered'), 0),
       max(last.done_at)
  FROM unnest($1::bigint[]) AS d (id)
 CROSS JOIN LATERAL (SELECT id FROM subscriptions
                      WHERE destination_id = d.id AND deleted_at IS NULL ORDER BY id DESC LIMIT 10) AS sub
 CROSS JOIN LATERAL (SELECT status, ms, done_at FROM deliveries
                      WHERE subscription_id = sub.id ORDER BY subscription_id DESC, event_id DESC LIMIT 100) AS last
 WHERE last.status <> 'canceled'
 GROUP BY d.id`

// RecentDeliveries summarizes the last deliveries of destinations, by the destination's ID: up to 100 for each of the ten newest
// subscriptions. Destinations without any are left out.
func (s *Store) RecentDeliveries(ctx context.Context, destinations []int64) (map[int64]delivery.Recent, error) {
	by := map[int64]delivery.Recent{}
	all, err := pgx.CollectRows(s.db.Rows(ctx, recentOf, destinations), func(row pgx.CollectableRow) (r delivery.Recent, err error) {
		err = row.Scan(&r.DestinationID, &r.Ended, &r.Delivered, &r.P95, &r.LastAt)
		r.LastAt = r.LastAt.UTC()
		return r, err
	})
	for _, r := range all {
		by[r.DestinationID] = r
	}
	return by, postgres.Failure("read recent deliveries", err)
}
