package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/persistence/audit"
	"holdfast/persistence/changes"
	"holdfast/persistence/postgres"
)

// Claimed sets the columns of a dead letter that a statement claims.
const Claimed = `state = 'replaying', replaying_since = clock_timestamp(), replaying_run_id = NULL, next_replay_at = NULL`

const (
	// lockQueued locks the delivery in the queue, if it is there.
	lockQueued = `
SELECT destination_id, lease IS NOT NULL AND due_at > statement_timestamp(), coalesce(order_state, '') FROM delivery_queue
 WHERE event_id = $1::uuid AND subscription_id = $2 FOR UPDATE`

	isOrdered = `SELECT settings ? 'order_by' FROM subscriptions WHERE id = $1`

	// makeDueNow also resumes a paused key.
	makeDueNow = `
UPDATE delivery_queue
   SET due_at = statement_timestamp(), lease = NULL, order_state = CASE WHEN order_state IS NOT NULL THEN 'head' END
 WHERE event_id = $1::uuid AND subscription_id = $2`

	// queueAgain queues a delivery that has ended, or of which only the dead letter is left. The generation must be new to the
	// destination. If the row of the last one was purged, the failures of the dead letter tell how many generations there were.
	queueAgain = `
INSERT INTO delivery_queue (event_id, subscription_id, destination_id, own_id, generation, ` + OrderColumns + `)
SELECT e.id, s.id, s.destination_id, true, 1 + coalesce(greatest(d.generation, l.failures - 1), 0), ` + OrderOfHit + `
  FROM events AS e CROSS JOIN (SELECT $3::text AS order_key, 1 AS n) AS hit
  JOIN subscriptions AS s ON s.id = $2 AND s.deleted_at IS NULL
  LEFT JOIN deliveries AS d ON d.event_id = e.id AND d.subscription_id = s.id
  LEFT JOIN LATERAL (SELECT max(failures) AS failures FROM dead_letters
                      WHERE event_id = e.id AND subscription_id = s.id) AS l ON true
 WHERE e.id = $1::uuid AND (d.event_id IS NOT NULL OR l.failures IS NOT NULL OR e.status = 'processed')
    ON CONFLICT DO NOTHING
RETURNING destination_id`

	// replaySent makes the delivery's dead letter, if any, wait for the outcome.
	replaySent = `
UPDATE dead_letters SET ` + Claimed + `
 WHERE event_id = $1::uuid AND subscription_id = $2 AND state IN ('open', 'exhausted')`

	cancelOpen = `
WITH canceled AS (
     DELETE FROM delivery_queue WHERE event_id = $1::uuid AND subscription_id = $2 RETURNING *
), ended_rows AS (` + insertEnded + `
SELECT event_id, subscription_id, destination_id, 'canceled', 'canceled', attempts, generation, 0, NULL,
       queued_at
  FROM canceled` + replaceEnded + reportEnded

	expungeOpen = `
WITH canceled AS (
     DELETE FROM delivery_queue WHERE event_id = $1::uuid RETURNING *
), ended_rows AS (` + insertEnded + `
SELECT event_id, subscription_id, destination_id, 'canceled', 'expunged', attempts, generation, 0, NULL,
       queued_at
  FROM canceled` + replaceEnded + reportEnded

	expungeAnswers  = `UPDATE deliveries SET answer = NULL WHERE event_id = $1::uuid`
	expungeAttempts = `DELETE FROM delivery_attempts WHERE event_id = $1::uuid`
	expungeFanout   = `DELETE FROM delivery_fanouts WHERE event_id = $1::uuid`
	expungeMatching = `DELETE FROM delivery_unmatched WHERE event_id = $1::uuid`

	insertEnded = `
INSERT INTO deliveries AS d (event_id, subscription_id, destination_id, status, code, attempts, generation, ms, answer, queued_at)
`
	replaceEnded = `
    ON CONFLICT (event_id, subscription_id) DO UPDATE
   SET destination_id = excluded.destination_id, status = excluded.status, code = excluded.code, attempts = excluded.attempts,
       generation = excluded.generation, ms = excluded.ms, answer = excluded.answer, queued_at = excluded.queued_at,
       done_at = excluded.done_at`

	// reportEnded writes change events for the rows in "ended_rows".
	reportEnded = `
 RETURNING event_id, subscription_id, status AS action, code
), reported AS (SELECT * FROM ended_rows)` + changes.ReportDeliveries + ` RETURNING n`

	// discardOf discards the dead letter of a canceled delivery.
	discardOf = `
UPDATE dead_letters
   SET state = 'discarded', replaying_since = NULL, next_replay_at = NULL, discarded_at = clock_timestamp(), discarded_by = $3,
       discard_reason = $4
 WHERE event_id = $1::uuid AND subscription_id = $2 AND state IN ('open', 'replaying', 'exhausted')`
)

// Resend queues a delivery that has ended, in whatever way, as a new generation, which has a new ID for its destination. The
// earlier outcome stays until this one has ended, and a dead letter is resolved once it is delivered. A delivery that is open
// already is only made due now; one in flight is refused with code "delivery_under_way", one behind the head of its key
// with code "delivery_waits". An ordered one that has ended goes to the end of its key, by the present order_by. If a processed
// event was never queued for the subscription (it didn't exist yet, was inactive or didn't match), it is queued now. It returns
// event.ErrNotFound if the event or subscription doesn't exist.
func (s *Store) Resend(ctx context.Context, k delivery.Key, by oversight.Actor) (delivery.Delivery, error) {
	destination, err := s.sendAgain(ctx, k, &by)
	if err != nil {
		return delivery.Delivery{}, postgres.Failure("resend delivery", err)
	}
	s.wake(ctx, destination)
	return s.Delivery(ctx, k)
}

func (s *Store) sendAgain(ctx context.Context, k delivery.Key, by *oversight.Actor) (destination int64, err error) {
	id := postgres.Clean(k.EventID)
	open, tx, err := s.lockQueued(ctx, k)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback(ctx)
	b := &pgx.Batch{}
	switch {
	case open.inProgress:
		return 0, errInProgress
	case open.isBehind():
		return 0, errWaits
	case open.destination != 0:
		destination = open.destination
		b.Queue(makeDueNow, id, k.SubscriptionID)
	default:
		key := ""
		if open.isOrdered {
			if key, err = s.OrderKey(ctx, tx, delivery.Key{EventID: id, SubscriptionID: k.SubscriptionID}); err != nil {
				return 0, err
			}
		}
		key = StoredOrderKey(k.SubscriptionID, key)
		b.Queue(queueAgain, id, k.SubscriptionID, key).QueryRow(func(row pgx.Row) error { return row.Scan(&destination) })
		b.Queue(replaySent, id, k.SubscriptionID)
	}
	if by != nil {
		audit.Queue(b, by.Did(oversight.AuditDeliveryResend, objectOfDelivery(k), nil))
	}
	return destination, tx.Commit(ctx, b)
}

// CancelDelivery ends an open delivery: no further attempt is made. An attempt in flight may still succeed, and then counts as
// delivered. The dead letter, if any, is discarded. It returns event.ErrNotFound if the delivery isn't open.
func (s *Store) CancelDelivery(ctx context.Context, k delivery.Key, by oversight.Actor) (delivery.Delivery, error) {
	if err := s.cancelDelivery(ctx, k, by); err != nil {
		return delivery.Delivery{}, postgres.Failure("cancel delivery", err)
	}
	return s.Delivery(ctx, k)
}

func (s *Store) cancelDelivery(ctx context.Context, k delivery.Key, by oversight.Actor) error {
	k.EventID = postgres.Clean(k.EventID)
	open, tx, err := s.lockQueued(ctx, k)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	if open.destination == 0 {
		return event.ErrNotFound
	}
	b := &pgx.Batch{}
	QueueDiscard(b, k, by)
	audit.Queue(b, by.Did(oversight.AuditDeliveryCancel, objectOfDelivery(k), nil))
	return tx.Commit(ctx, b)
}

// queuedDelivery is a queued delivery; one that isn't queued has no destination.
type queuedDelivery struct {
	destination int64
	inProgress  bool
	order       string // order_state
	// isOrdered: the subscription has an order, whether or not the delivery is queued.
	isOrdered bool
}

// isBehind reports whether the delivery isn't the one of its key that may be attempted.
func (q queuedDelivery) isBehind() bool { return q.order == "new" || q.order == "waiting" }

// lockQueued begins a transaction that locks the event of a delivery, and its row in the queue.
func (s *Store) lockQueued(ctx context.Context, k delivery.Key) (open queuedDelivery, tx *postgres.Transaction, err error) {
	b := &pgx.Batch{}
	b.Queue(postgres.EventLock, postgres.Clean(k.EventID))
	b.Queue(lockQueued, postgres.Clean(k.EventID), k.SubscriptionID).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{&open.destination, &open.inProgress, &open.order}, func() error { return nil })
		return err
	})
	b.Queue(isOrdered, k.SubscriptionID).Query(postgres.ForEach([]any{&open.isOrdered}, func() {}))
	tx, err = s.db.Begin(ctx, b)
	return open, tx, err
}

// QueueDiscard adds statements that cancel a delivery and discard its dead letter to a transaction that holds its event's lock.
func QueueDiscard(b *pgx.Batch, k delivery.Key, by oversight.Actor) {
	b.Queue(cancelOpen, k.EventID, k.SubscriptionID)
	b.Queue(discardOf, k.EventID, k.SubscriptionID, postgres.Clip(postgres.Clean(by.Name), audit.MaxName),
		postgres.Clip(postgres.Clean(cmp.Or(by.Reason, "its delivery was canceled")), audit.MaxReason))
}

// QueueExpunge adds statements to a transaction that holds an event's lock: they cancel the event's deliveries, and remove the
// responses of destinations. The rows of the deliveries stay, without responses. Those that are still to be queued come first, so
// that a page of them that commits meanwhile is canceled, too.
func QueueExpunge(b *pgx.Batch, eventID string) {
	for _, sql := range []string{expungeFanout, expungeMatching, expungeOpen, expungeAnswers, expungeAttempts} {
		b.Queue(sql, eventID)
	}
}

// Redeliver sends a delivery again. The caller has claimed its dead letter and writes the audit entry. A delivery in flight, or
// behind others of its key, isn't touched: its outcome settles the dead letter.
func (s *Store) Redeliver(ctx context.Context, eventID string, subscriptionID int64) error {
	destination, err := s.sendAgain(ctx, delivery.Key{EventID: eventID, SubscriptionID: subscriptionID}, nil)
	if errors.Is(err, errInProgress) || errors.Is(err, errWaits) {
		return nil
	}
	if err != nil {
		return postgres.Failure("deliver event "+postgres.Clean(eventID)+" again", err)
	}
	s.wake(ctx, destination)
	return nil
}

func objectOfDelivery(k delivery.Key) string {
	return fmt.Sprintf("delivery:%s/%d", postgres.Clean(k.EventID), k.SubscriptionID)
}

var (
	errInProgress = &event.Error{
		Class: event.ClassRejected, Code: "delivery_under_way", Text: "an attempt of this delivery is under way",
	}
	errWaits = &event.Error{
		Class: event.ClassRejected, Code: "delivery_waits",
		Text: "this delivery is queued behind another one of its key: skip or cancel that one",
	}
)
