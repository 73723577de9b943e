package deadletters

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/event/retention"
	"holdfast/persistence/audit"
	"holdfast/persistence/decisions"
	"holdfast/persistence/outbox"
	"holdfast/persistence/postgres"
)

// lockEvent locks the event of a dead letter, which comes before the row in the lock order.
const lockEvent = `SELECT pg_advisory_xact_lock(hashtextextended(event_id::text, 0)) FROM dead_letters WHERE id = $1`

// lockQueued locks the delivery of a dead letter, if it is queued. Transactions that end deliveries lock them before their dead
// letters; the reverse order would deadlock.
const lockQueued = `
SELECT FROM dead_letters AS l
 CROSS JOIN LATERAL (
       SELECT FROM delivery_queue AS q
        WHERE q.event_id = l.event_id AND q.subscription_id = l.subscription_id FOR UPDATE) AS q
 WHERE l.id = $1`

// lockDeadLetter locks a dead letter until the end of the transaction, so that a run that fails or succeeds meanwhile waits.
// isFree means that it is open or exhausted, or that its owner's lease (replayLease) has ended.
const lockDeadLetter = `
SELECT state, coalesce(replaced_by::text, ''), event_id::text, workflow_id, provider, receipt,
       state IN ('open', 'exhausted')
           OR (state = 'replaying' AND replaying_since < clock_timestamp() - $2::interval),
       subscription_id
  FROM dead_letters WHERE id = $1 FOR UPDATE`

const (
	discardDeadLetter = `
UPDATE dead_letters
   SET state = 'discarded', replaying_since = NULL, discarded_at = clock_timestamp(), discarded_by = $2,
       discard_reason = $3, replaced_by = nullif($4, '')::uuid
 WHERE id = $1`

	replaceDeadLetter = `
UPDATE dead_letters
   SET state = 'discarded', replaying_since = NULL, next_replay_at = NULL, discarded_at = clock_timestamp(), discarded_by = $2,
       discard_reason = $3, replaced_by = $4::uuid
 WHERE event_id = $1::uuid AND subscription_id = 0 AND state IN ('open', 'replaying', 'exhausted')`

	deleteDeadLetter = `DELETE FROM dead_letters WHERE id = $1`

	// CleanDeadLetters removes up to $3 that were resolved or discarded before $1, of one provider unless that is empty.
	CleanDeadLetters = `
DELETE FROM dead_letters WHERE id = ANY (ARRAY(
       SELECT id FROM dead_letters
        WHERE state IN ('resolved', 'discarded') AND coalesce(resolved_at, discarded_at) < $1
          AND ($2 = '' OR provider = $2)
        ORDER BY coalesce(resolved_at, discarded_at), id LIMIT $3
          FOR UPDATE SKIP LOCKED))`

	// Outdated reads up to $2 that were resolved or discarded before $1, and of those as many as fit into a page.
	Outdated = deadLetterColumns + `, raw_body, unread_receipt, xmin::text FROM dead_letters
 WHERE id = ANY (ARRAY(SELECT id FROM (
       SELECT id, ` + postgres.FitsPage + ` AS fits FROM (
              SELECT id, coalesce(resolved_at, discarded_at) AS ended_at,
                     octet_length(raw_body) + pg_column_size(receipt) + octet_length(coalesce(unread_receipt, '')) AS size
                FROM dead_letters
               WHERE state IN ('resolved', 'discarded') AND coalesce(resolved_at, discarded_at) < $1
               ORDER BY coalesce(resolved_at, discarded_at), id LIMIT $2) AS sized
       WINDOW page AS (ORDER BY ended_at, id)) AS next WHERE fits))
 ORDER BY coalesce(resolved_at, discarded_at), id`

	// CleanOutdated removes the rows read before, unless they have changed since.
	CleanOutdated = `
DELETE FROM dead_letters WHERE id = ANY (ARRAY(
       SELECT d.id FROM unnest($1::bigint[], $2::text[]) AS was (id, version)
        CROSS JOIN LATERAL (
              SELECT id FROM dead_letters AS d
               WHERE d.id = was.id AND d.xmin::text = was.version AND d.state IN ('resolved', 'discarded')
                 FOR UPDATE SKIP LOCKED) AS d))`
)

// ScanOutdated reads a row of Outdated.
func ScanOutdated(row pgx.Row) (o retention.Outdated, err error) {
	d, err := scanDeadLetter(row, &o.Body, &o.UnreadReceipt, &o.Version)
	o.DeadLetter = &d
	return o, err
}

// lockedDeadLetter is a dead letter whose row this transaction has locked.
type lockedDeadLetter struct {
	id         int64
	state      event.DeadLetterState
	replacedBy string
	eventID    string
	workflowID string
	provider   string
	receipt    []byte
	isFree     bool
	// subscription is 0 if the event itself could not be processed.
	subscription int64
}

func (h lockedDeadLetter) object() string { return "dead_letter:" + strconv.FormatInt(h.id, 10) }

func (h lockedDeadLetter) refusal() error {
	return &event.StateError{ID: h.id, State: h.state, ReplacedBy: h.replacedBy}
}

// detail names the event for the audit log, since the row may be removed.
func (h lockedDeadLetter) detail(more map[string]any) json.RawMessage {
	detail := map[string]any{"event_id": h.eventID, "workflow_id": h.workflowID, "state": h.state}
	for name, value := range more {
		detail[name] = value
	}
	return audit.DetailOf(detail)
}

// lock begins a transaction that locks a dead letter.
func (s *Store) lock(ctx context.Context, id int64) (h lockedDeadLetter, tx *postgres.Transaction, err error) {
	b := &pgx.Batch{}
	b.Queue(lockEvent, id)
	b.Queue(lockQueued, id)
	b.Queue(lockDeadLetter, id, replayLease).QueryRow(func(row pgx.Row) error {
		return row.Scan(&h.state, &h.replacedBy, &h.eventID, &h.workflowID, &h.provider, &h.receipt, &h.isFree, &h.subscription)
	})
	h.id = id
	tx, err = s.db.Begin(ctx, b)
	return h, tx, err
}

// DiscardDeadLetter gives an event up permanently: no attempt will process it, and what it did to entities is undone. Its dead
// letter is kept. If the dead letter is of a delivery, only the delivery is given up: the event stays processed. The error is a
// *event.StateError if the dead letter is resolved, replaying or discarded.
func (s *Store) DiscardDeadLetter(ctx context.Context, id int64, by oversight.Actor) error {
	return s.closeDeadLetter(ctx, "discard", id, func(tx *postgres.Transaction, h lockedDeadLetter, b *pgx.Batch) error {
		if !h.isFree {
			return h.refusal()
		}
		if by.Reason == "" {
			return errNoReason
		}
		if h.subscription != 0 {
			outbox.QueueDiscard(b, delivery.Key{EventID: h.eventID, SubscriptionID: h.subscription}, by)
			audit.Queue(b, by.Did(oversight.AuditDiscard, h.object(), h.detail(nil)))
			return nil
		}
		effects, err := s.decideAndClose(ctx, tx, h, decisions.By(by, h.eventID, event.OutcomeDiscarded))
		if err != nil {
			return err
		}
		audit.Queue(b, by.Did(oversight.AuditDiscard, h.object(), h.detail(effects.Detail())))
		return nil
	})
}

// DeleteDeadLetter removes a dead letter that is resolved or discarded; others are needed to recover the event, so the error is a
// *event.StateError. A decision about the event stays.
func (s *Store) DeleteDeadLetter(ctx context.Context, id int64, by oversight.Actor) error {
	return s.closeDeadLetter(ctx, "delete", id, func(_ *postgres.Transaction, h lockedDeadLetter, b *pgx.Batch) error {
		if h.state != event.DeadLetterResolved && h.state != event.DeadLetterDiscarded {
			return h.refusal()
		}
		b.Queue(deleteDeadLetter, id)
		audit.Queue(b, by.Did(oversight.AuditDelete, h.object(), h.detail(nil)))
		return nil
	})
}

// decideAndClose stores a decision about the event of a dead letter, and closes the dead letter.
func (s *Store) decideAndClose(
	ctx context.Context, t *postgres.Transaction, h lockedDeadLetter, v event.Decision,
) (decisions.Effects, error) {
	var r event.Receipt
	if err := json.Unmarshal(h.receipt, &r); err != nil {
		return decisions.Effects{}, fmt.Errorf("decode receipt: %w", err)
	}
	b := &pgx.Batch{}
	b.Queue(discardDeadLetter, h.id, v.By, v.Reason, v.ReplacedBy)
	if err := t.Send(ctx, b); err != nil {
		return decisions.Effects{}, err
	}
	return s.decisions.Decide(ctx, t, v, r)
}

// QueueReplaced closes the dead letter of an event, if it has one, that its decision replaces. The transaction holds the event's
// lock.
func QueueReplaced(b *pgx.Batch, v event.Decision) {
	b.Queue(replaceDeadLetter, v.EventID, v.By, v.Reason, v.ReplacedBy)
}

// closeDeadLetter runs a change of one dead letter, which queues its last statements or refuses.
func (s *Store) closeDeadLetter(
	ctx context.Context, verb string, id int64, change func(*postgres.Transaction, lockedDeadLetter, *pgx.Batch) error,
) error {
	doing := fmt.Sprintf("%s dead letter %d", verb, id)
	locked, tx, err := s.lock(ctx, id)
	if err != nil {
		return postgres.Failure(doing, err)
	}
	defer tx.Rollback(ctx)
	b := &pgx.Batch{}
	if err := change(tx, locked, b); err != nil {
		return postgres.Failure(doing, err)
	}
	return postgres.Failure(doing, tx.Commit(ctx, b))
}

// CleanUpDeadLetters removes dead letters that were resolved or discarded before a time, oldest first, and returns how many. It
// is one transaction of at most operation.MaxCleanup rows: as long as it removes that many, there may be more.
func (s *Store) CleanUpDeadLetters(ctx context.Context, c operation.Cleanup, by oversight.Actor) (removed int64, err error) {
	if c.Limit <= 0 || c.Limit > operation.MaxCleanup {
		c.Limit = operation.MaxCleanup
	}
	const doing = "clean up dead letters"
	b := &pgx.Batch{}
	b.Queue(CleanDeadLetters, c.Before, postgres.Clean(c.Provider), c.Limit).Exec(postgres.CountInto(&removed))
	tx, err := s.db.Begin(ctx, b)
	if err != nil {
		return 0, postgres.Failure(doing, err)
	}
	defer tx.Rollback(ctx)
	detail := audit.DetailOf(map[string]any{
		"before": c.Before.UTC(), "provider": postgres.Clean(c.Provider), "removed": removed,
	})
	last := &pgx.Batch{}
	audit.Queue(last, by.Did(oversight.AuditCleanup, "dead_letters", detail))
	if err := tx.Commit(ctx, last); err != nil {
		return 0, postgres.Failure(doing, err)
	}
	return removed, nil
}

var errNoReason = &event.Error{
	Class: event.ClassRejected, Code: "missing_reason", Text: "say why the event is given up",
}
