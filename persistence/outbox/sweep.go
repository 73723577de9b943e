package outbox

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/persistence/postgres"
)

// sweepRows is how many deliveries one transaction of a sweep ends.
const sweepRows = 500

const (
	// cancelDeleted looks for each subscription that is deleted, or whose destination is, whether something of it is open. Such a
	// row may also have come after it was deleted, from a writer who had read it before.
	cancelDeleted = `
WITH gone AS (
     SELECT s.id FROM subscriptions AS s JOIN destinations AS d ON d.id = s.destination_id
      WHERE s.deleted_at IS NOT NULL OR d.deleted_at IS NOT NULL
), picked AS MATERIALIZED (
     SELECT q.place
       FROM gone CROSS JOIN LATERAL (
            SELECT ctid AS place FROM delivery_queue AS q
             WHERE q.subscription_id = gone.id ORDER BY event_id LIMIT $1 FOR UPDATE SKIP LOCKED) AS q
      LIMIT $1
), ended AS (
     DELETE FROM delivery_queue AS q USING picked AS p
      WHERE q.ctid = p.place RETURNING q.*
), kept AS (` + keepEnded + `
SELECT event_id, subscription_id, destination_id, 'canceled', 'deleted', attempts, generation, 0, NULL,
       queued_at
  FROM ended` + replaceEnded + tellEnded

	discardDeleted = `
UPDATE dead_letters AS l
   SET state = 'discarded', redriving_since = NULL, next_redrive_at = NULL, discarded_at = clock_timestamp(),
       discarded_by = 'holdfast', discard_reason = 'its subscription was deleted'
 WHERE l.id IN (
       SELECT l.id FROM (
              SELECT s.id FROM subscriptions AS s JOIN destinations AS d ON d.id = s.destination_id
               WHERE s.deleted_at IS NOT NULL OR d.deleted_at IS NOT NULL) AS gone
        CROSS JOIN LATERAL (
              SELECT id FROM dead_letters AS l
               WHERE l.subscription_id = gone.id AND l.subscription_id > 0 AND l.state IN ('open', 'redriving', 'exhausted')
               ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED) AS l
        LIMIT $1)`

	selectKeeps = `SELECT id, settings FROM destinations WHERE deleted_at IS NULL`

	// expireOld goes by the event, which is never younger than its delivery. A dead letter that waited for the outcome waits for
	// somebody again.
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
     UPDATE dead_letters AS l SET state = 'open', redriving_since = NULL, redriving_run_id = NULL
       FROM ended AS e
      WHERE l.event_id = e.event_id AND l.subscription_id = e.subscription_id AND l.state = 'redriving'
), kept AS (` + keepEnded + `
SELECT event_id, subscription_id, destination_id, 'failed', 'expired', attempts, generation, 0, NULL,
       queued_at
  FROM ended` + replaceEnded + tellEnded
)

// CancelDeleted cancels what is open for subscriptions that are deleted, or whose destination is, and discards their dead
// letters, since nothing can be sent to them any more. It is one transaction, of at most 500 of each: as long as it gives that
// many, there may be more. It may run beside itself.
func (s *Store) CancelDeleted(ctx context.Context) (canceled int64, err error) {
	canceled, discarded, err := s.cancelDeleted(ctx)
	return max(canceled, discarded), postgres.Failure("cancel deliveries of what is deleted", err)
}

// CancelAllDeleted is CancelDeleted until there is no more, and gives how many deliveries were canceled. Should something fail,
// the rest is for the next sweep.
func (s *Store) CancelAllDeleted(ctx context.Context) (canceled int64) {
	for {
		some, discarded, err := s.cancelDeleted(ctx)
		canceled += some
		if err != nil || max(some, discarded) < sweepRows {
			return canceled
		}
	}
}

func (s *Store) cancelDeleted(ctx context.Context) (canceled, discarded int64, err error) {
	b := &pgx.Batch{}
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	b.Queue(cancelDeleted, sweepRows).Query(countTold(&canceled))
	b.Queue(discardDeleted, sweepRows).Exec(postgres.CountInto(&discarded))
	return canceled, discarded, s.db.SendOnly(ctx, b)
}

// ExpireDeliveries ends what has been open for longer than its destination keeps deliveries. It is no dead letter, which would
// keep the event for ever: it has failed with the code CodeExpired, stands among what was never delivered for as long as
// deliveries are kept, and can be sent again. It is one transaction of at most 500: as long as it gives that many, there may be
// more. It may run beside itself.
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
	_, err = pgx.ForEachRow(s.db.Rows(ctx, selectKeeps), []any{&id, &settings}, func() error {
		var d delivery.Destination
		_ = json.Unmarshal(settings, &d) // what cannot be read is kept as long as by default
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
	b.Queue(expireOld, ids, befores, bounds, sweepRows).Query(countTold(&expired))
	err = s.db.SendOnly(ctx, b)
	return expired, postgres.Failure(doing, err)
}

// countTold notes how many deliveries a statement has told of.
func countTold(n *int64) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{n}, func() error { return nil })
		return err
	}
}
