package minutes

import (
	"context"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event/oversight"
	"holdfast/persistence/postgres"
)

const (
	addDeliveries = `
INSERT INTO delivery_minutes AS m (destination_id, starts_at, succeeded, failed, ms)
SELECT destination_id::bigint, starts_at, succeeded, failed, ms
  FROM unnest($1::text[], $2::timestamptz[], $3::bigint[], $4::bigint[], $5::bigint[])
         AS n (destination_id, starts_at, succeeded, failed, ms)
ON CONFLICT (destination_id, starts_at) DO UPDATE
   SET succeeded = m.succeeded + excluded.succeeded, failed = m.failed + excluded.failed, ms = m.ms + excluded.ms`

	// PurgeDeliveries removes up to $2 counts of attempts from before $1.
	PurgeDeliveries = `
DELETE FROM delivery_minutes
 WHERE ctid = ANY (ARRAY(SELECT ctid FROM delivery_minutes WHERE starts_at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED))`

	selectDeliveries = `
SELECT date_bin($4::interval, starts_at, 'epoch'), sum(succeeded)::bigint, sum(failed)::bigint, sum(ms)::bigint
  FROM delivery_minutes WHERE destination_id = $1 AND starts_at >= $2 AND starts_at < $3
 GROUP BY 1 ORDER BY 1`

	sumDeliveries = `
SELECT d.id, sum(m.succeeded)::bigint, sum(m.failed)::bigint, sum(m.ms)::bigint
  FROM unnest($1::bigint[]) AS d (id)
  JOIN delivery_minutes AS m ON m.destination_id = d.id AND m.starts_at >= $2 AND m.starts_at < $3
 GROUP BY d.id`
)

// AttemptCounter counts attempts of deliveries by destination, in the background.
type AttemptCounter struct{ *counter }

// NewAttemptCounter starts a counter; Stop writes what is left and ends it.
func (s *Store) NewAttemptCounter() *AttemptCounter {
	return &AttemptCounter{s.start(table{addDeliveries, 3, bucketWidth})}
}

// Count counts an attempt that has just ended.
func (c *AttemptCounter) Count(destinationID int64, succeeded bool, took time.Duration) {
	n := counts{0, 1, took.Milliseconds()}
	if succeeded {
		n[0], n[1] = 1, 0
	}
	c.add(strconv.FormatInt(destinationID, 10), time.Now(), n)
}

// DeliveryHistory counts the attempts at a destination.
func (s *Store) DeliveryHistory(
	ctx context.Context, destinationID int64, p oversight.Span,
) ([]oversight.DeliveryBucket, error) {
	rows := s.db.Rows(ctx, selectDeliveries, destinationID, p.Since, p.Until, time.Duration(p.Step))
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[oversight.DeliveryBucket])
	return found, postgres.Failure("count attempts by time", err)
}

// DeliveryTotals counts the attempts at each of some destinations in the whole of a span, by the destination's ID. Destinations
// without any are left out.
func (s *Store) DeliveryTotals(
	ctx context.Context, destinations []int64, p oversight.Span,
) (map[int64]oversight.DeliveryBucket, error) {
	by := map[int64]oversight.DeliveryBucket{}
	var id int64
	sum := oversight.DeliveryBucket{At: p.Since}
	columns := []any{&id, &sum.Succeeded, &sum.Failed, &sum.Milliseconds}
	_, err := pgx.ForEachRow(s.db.Rows(ctx, sumDeliveries, destinations, p.Since, p.Until), columns, func() error {
		by[id] = sum
		return nil
	})
	return by, postgres.Failure("count attempts of destinations", err)
}
