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
	// The functions are those of the migration, since only a table's owner may create or drop its partitions.
	keepPartitions = `SELECT keep_delivery_partitions()`
	dropPartitions = `SELECT drop_delivery_partitions($1)`

	// Rows without a weekly partition are removed one by one.
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

// KeepPartitions creates the partitions of the coming weeks. Nothing fails if it isn't called for long: rows of a week without a
// partition go to the default partition. It waits at most a second for a lock, so that other transactions don't queue behind it
// for long; the error is transient then.
func (s *Store) KeepPartitions(ctx context.Context) error {
	_, err := s.db.Exec(ctx, keepPartitions)
	return postgres.Failure("make partitions of deliveries", err)
}

// QueuePurge adds the statements that remove deliveries of events from before a time: whole weeks once they are that old, and
// some thousand rows outside the weekly partitions. into receives about how many rows were removed; at 0, nothing is left. Open
// deliveries stay.
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
