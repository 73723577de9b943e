package outbox

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/persistence/postgres"
)

// rowsPerTransaction is how many deliveries one transaction ends.
const rowsPerTransaction = 500

const (
	// cancelDeleted finds open deliveries of each subscription that is deleted, or whose destination is. They may also have been
	// inserted after the deletion, by a writer that had read the subscription before.
	cancelDeleted = `
WITH deleted AS (
     SELECT s.id FROM subscriptions AS s JOIN destinations AS d ON d.id = s.destination_id
      WHERE s.deleted_at IS NOT NULL OR d.deleted_at IS NOT NULL
), picked AS MATERIALIZED (
     SELECT q.place
       FROM deleted CROSS JOIN LATERAL (
            SELECT ctid AS place FROM delivery_queue AS q
             WHERE q.subscription_id = deleted.id ORDER BY event_id LIMIT $1 FOR UPDATE SKIP LOCKED) AS q
      LIMIT $1
), ended AS (
     DELETE FROM delivery_queue AS q USING picked AS p
      WHERE q.ctid = p.place RETURNING q.*
), ended_rows AS (` + insertEnded + `
SELECT event_id, subscription_id, destination_id, 'canceled', 'deleted', attempts, generation, 0, NULL,
       queued_at
  FROM ended` + replaceEnded + reportEnded

	discardDeleted = `
UPDATE dead_letters AS l
   SET state = 'discarded', replaying_since = NULL, next_replay_at = NULL, discarded_at = clock_timestamp(),
       discarded_by = 'holdfast', discard_reason = 'its subscription was deleted'
 WHERE l.id = ANY (ARRAY(
       SELECT l.id FROM (
              SELECT s.id FROM subscriptions AS s JOIN destinations AS d ON d.id = s.destination_id
               WHERE s.deleted_at IS NOT NULL OR d.deleted_at IS NOT NULL) AS deleted
        CROSS JOIN LATERAL (
              SELECT id FROM dead_letters AS l
               WHERE l.subscription_id = deleted.id AND l.subscription_id > 0 AND l.state IN ('open', 'replaying', 'exhausted')
               LIMIT $1 FOR UPDATE SKIP LOCKED) AS l
        LIMIT $1))`

	selectRetention = `SELECT id, settings FROM destinations WHERE deleted_at IS NULL`

	// expireOld compares queued_at with the limit. The bound on event_id only narrows the search: an event is never younger than its
	// delivery. A dead letter that waited for the outcome is open again.
	expireOld = `
WITH picked AS MATERIALIZED (
     SELECT q.place
       FROM unnest($1::bigint[], $2::timestamptz[], $3::uuid[]) AS k (destination_id, before, bound)
       JOIN subscriptions AS s ON s.destination_id = k.destination_id
      CROSS JOIN LATERAL (
            SELECT ctid AS place FROM delivery_queue AS q
             WHERE q.subscription_id = s.id AND q.event_id < k.bound AND q.queued_at < k.before
               AND (q.lease IS NULL OR q.due_at <= statement_timestamp())
             ORDER BY event_id LIMIT $4 FOR UPDATE SKIP LOCKED) AS q
      LIMIT $4
), ended AS (
     DELETE FROM delivery_queue AS q USING picked AS p
      WHERE q.ctid = p.place RETURNING q.*
), waits AS (
     UPDATE dead_letters SET state = 'open', replaying_since = NULL, replaying_run_id = NULL
      WHERE id = ANY (ARRAY(
            SELECT l.id FROM ended AS e
             CROSS JOIN LATERAL (
                   SELECT id FROM dead_letters AS l
                    WHERE l.event_id = e.event_id AND l.subscription_id = e.subscription_id AND l.state = 'replaying'
                      FOR UPDATE) AS l))
), ended_rows AS (` + insertEnded + `
SELECT event_id, subscription_id, destination_id, 'failed', 'expired', attempts, generation, 0, NULL,
       queued_at
  FROM ended` + replaceEnded + reportEnded
)

// CancelDeleted cancels the open deliveries of subscriptions that are deleted, or whose destination is, and discards their dead
// letters, since nothing can be sent to them any more. It is one transaction, of at most 500 of each: as long as it returns that
// many, there may be more. It is safe to run concurrently.
func (s *Store) CancelDeleted(ctx context.Context) (canceled int64, err error) {
	canceled, discarded, err := s.cancelDeleted(ctx)
	return max(canceled, discarded), postgres.Failure("cancel deliveries of deleted subscriptions", err)
}

// CancelAllDeleted repeats CancelDeleted until nothing is left, and returns how many deliveries were canceled. After an error,
// the next sweep handles the rest.
func (s *Store) CancelAllDeleted(ctx context.Context) (canceled int64) {
	for {
		some, discarded, err := s.cancelDeleted(ctx)
		canceled += some
		if err != nil || max(some, discarded) < rowsPerTransaction {
			return canceled
		}
	}
}

func (s *Store) cancelDeleted(ctx context.Context) (canceled, discarded int64, err error) {
	b := &pgx.Batch{}
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	b.Queue(cancelDeleted, rowsPerTransaction).Query(countReported(&canceled))
	b.Queue(discardDeleted, rowsPerTransaction).Exec(postgres.CountInto(&discarded))
	return canceled, discarded, s.db.SendOnly(ctx, b)
}

// ExpireDeliveries ends deliveries that have been open for longer than their destination allows. They get no dead letter, which
// would keep the event forever: they fail with the code CodeExpired, are listed as failed for as long as deliveries are kept, and
// can be sent again. It is one transaction of at most 500: as long as it returns that many, there may be more. It is safe to run
// concurrently.
func (s *Store) ExpireDeliveries(ctx context.Context) (expired int64, err error) {
	const doing = "expire deliveries"
	now := time.Now()
	var (
		ids      []int64
		befores  []time.Time
		bounds   []string
		id       int64
		settings []byte
	)
	_, err = pgx.ForEachRow(s.db.Rows(ctx, selectRetention), []any{&id, &settings}, func() error {
		var d delivery.Destination
		_ = json.Unmarshal(settings, &d) // unreadable settings get the default
		if d.Keep <= 0 {
			d.Keep = delivery.DefaultKeep
		}
		before := now.Add(-time.Duration(d.Keep))
		ids, befores, bounds = append(ids, id), append(befores, before), append(bounds, event.FirstIDAt(before))
		return nil
	})
	if err != nil || len(ids) == 0 {
		return 0, postgres.Failure(doing, err)
	}
	b := &pgx.Batch{}
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	b.Queue(expireOld, ids, befores, bounds, rowsPerTransaction).Query(countReported(&expired))
	err = s.db.SendOnly(ctx, b)
	return expired, postgres.Failure(doing, err)
}

// countReported counts the deliveries for which a statement has written change events.
func countReported(n *int64) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{n}, func() error { return nil })
		return err
	}
}

const (
	// Functions from a migration do this, because only a table's owner may create or drop its partitions.
	createPartitions = `SELECT keep_delivery_partitions()`
	dropPartitions   = `SELECT drop_delivery_partitions($1)`

	// Rows without a weekly partition are removed one by one.
	purgeBefore = `
DELETE FROM deliveries_before WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM deliveries_before WHERE event_id < $1::uuid ORDER BY event_id LIMIT $2 FOR UPDATE SKIP LOCKED))`
	purgeOther = `
DELETE FROM deliveries_other WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM deliveries_other WHERE event_id < $1::uuid ORDER BY event_id LIMIT $2 FOR UPDATE SKIP LOCKED))`
	purgeAttemptsBefore = `
DELETE FROM delivery_attempts_before WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM delivery_attempts_before WHERE event_id < $1::uuid ORDER BY event_id LIMIT $2 FOR UPDATE SKIP LOCKED))`
	purgeAttemptsOther = `
DELETE FROM delivery_attempts_other WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM delivery_attempts_other WHERE event_id < $1::uuid ORDER BY event_id LIMIT $2 FOR UPDATE SKIP LOCKED))`
)

// purgeRows is how many rows one statement of a purge removes.
const purgeRows = 5000

// CreatePartitions creates the partitions of the coming weeks. Nothing fails if it isn't called for a long time: rows of a week
// without a partition go to the default partition. It waits at most a second for a lock, so that other transactions don't queue
// behind it for long. If it gets none, it returns a transient error.
func (s *Store) CreatePartitions(ctx context.Context) error {
	_, err := s.db.Exec(ctx, createPartitions)
	return postgres.Failure("create partitions of deliveries", err)
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
