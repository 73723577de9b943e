package outbox

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

const (
	// The functions are those of the migration, since only who owns a table may make a partition of it or drop one.
	keepPartitions = `SELECT keep_delivery_partitions()`
	dropPartitions = `SELECT drop_delivery_partitions($1)`

	// What stands in no week's partition goes row by row.
	purgeBefore = `
DELETE FROM deliveries_before WHERE (event_id, subscription_id) IN (
       SELECT event_id, subscription_id FROM deliveries_before WHERE event_id < $1::uuid ORDER BY event_id LIMIT $2)`
	purgeOther = `
DELETE FROM deliveries_other WHERE (event_id, subscription_id) IN (
       SELECT event_id, subscription_id FROM deliveries_other WHERE event_id < $1::uuid ORDER BY event_id LIMIT $2)`
	purgeAttemptsBefore = `
DELETE FROM delivery_attempts_before WHERE (event_id, subscription_id, lease) IN (
       SELECT event_id, subscription_id, lease FROM delivery_attempts_before
        WHERE event_id < $1::uuid ORDER BY event_id LIMIT $2)`
	purgeAttemptsOther = `
DELETE FROM delivery_attempts_other WHERE (event_id, subscription_id, lease) IN (
       SELECT event_id, subscription_id, lease FROM delivery_attempts_other
        WHERE event_id < $1::uuid ORDER BY event_id LIMIT $2)`
)

// purgeRows is how many rows one statement of a purge removes.
const purgeRows = 5000

// KeepPartitions makes the partitions of the weeks to come. Nothing fails if nobody calls it for long: what belongs to a week
// that has none goes to the partition for all others. It waits for a lock for a second at most, so that nobody waits long
// behind it; the error is transient then.
func (s *Store) KeepPartitions(ctx context.Context) error {
	_, err := s.db.Exec(ctx, keepPartitions)
	return postgres.Failure("make partitions of deliveries", err)
}

// QueuePurge adds the statements that remove what is kept of deliveries of events from before a time: weeks as a whole, once
// all of a week is that old, and some thousand rows of what belongs to none. into is about how many rows have gone; when it is
// 0, nothing is left. What is open stays.
func QueuePurge(b *pgx.Batch, before time.Time, into *int64) {
	b.Queue(dropPartitions, before).QueryRow(func(row pgx.Row) error {
		var dropped int64
		err := row.Scan(&dropped)
		*into += dropped
		return err
	})
	for _, sql := range []string{purgeBefore, purgeOther, purgeAttemptsBefore, purgeAttemptsOther} {
		b.Queue(sql, event.FirstIDAt(before), purgeRows).Exec(func(tag pgconn.CommandTag) error {
			*into += tag.RowsAffected()
			return nil
		})
	}
}
