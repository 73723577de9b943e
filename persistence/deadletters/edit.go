package deadletters

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/persistence/audit"
	"holdfast/persistence/decisions"
	"holdfast/persistence/postgres"
)

// freeRevision selects the first unused revision of a key.
const freeRevision = `
SELECT n FROM generate_series(1, 1000) AS n
 WHERE NOT EXISTS (SELECT FROM dead_letters WHERE workflow_id = $1 || ':r' || n OFFSET 0)
   AND NOT EXISTS (SELECT FROM events WHERE workflow_id = $1 || ':r' || n OFFSET 0)
   AND NOT EXISTS (SELECT FROM idempotency_keys WHERE provider = $2 AND key = $3 || ':r' || n OFFSET 0)
 ORDER BY n LIMIT 1`

// The edited event gets the failure of its original, and has no failures of its own yet. It begins as replaying, owned by the
// caller that edited it; if that process dies before the run is started, it is open again after a replayLease.
const insertEdited = `
INSERT INTO dead_letters (
       event_id, provider, source, key, type, receipt, raw_body, state, replaying_since, step, error_class, error_code,
       error_message, rule, attempts, failures, first_failed_at, last_failed_at, workflow_id, run_id)
SELECT $2::uuid, provider, source, $3, type, $4::json, $5::bytea, 'replaying', clock_timestamp(), step, error_class, error_code,
       error_message, rule, attempts, 0, first_failed_at, last_failed_at, $6, ''
  FROM dead_letters WHERE id = $1
RETURNING id`

// EditDeadLetter makes a new event from a dead-lettered one, with another body, and returns its dead letter in state replaying:
// the caller starts its run, or releases it (Release, without an owner). The original is kept as discarded, what it did to
// entities is undone, and each of the two names the other. Nothing is lost if the caller dies: the edited event then has an
// ordinary dead letter. The error is a *event.StateError if the original is not open.
func (s *Store) EditDeadLetter(ctx context.Context, e operation.Edit, by oversight.Actor) (event.DeadLetter, error) {
	doing := fmt.Sprintf("edit dead letter %d", e.DeadLetter)
	id, err := s.edit(ctx, e, by)
	if err != nil {
		return event.DeadLetter{}, postgres.Failure(doing, err)
	}
	return s.DeadLetter(ctx, id)
}

func (s *Store) edit(ctx context.Context, e operation.Edit, by oversight.Actor) (id int64, err error) {
	locked, tx, err := s.lock(ctx, e.DeadLetter)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback(ctx)
	if locked.subscription != 0 {
		return 0, errEditDelivery
	}
	if !locked.isFree {
		return 0, locked.refusal()
	}
	revised, err := revise(ctx, tx, locked, e.EventID)
	if err != nil {
		return 0, err
	}
	receipt, err := postgres.ReceiptColumn(revised)
	if err != nil {
		return 0, err
	}
	sum := sha256.Sum256(e.Body)
	decision := decisions.By(by, locked.eventID, event.OutcomeReplaced)
	decision.Reason, decision.ReplacedBy = cmp.Or(decision.Reason, "edited"), e.EventID
	effects, err := s.decideAndClose(ctx, tx, locked, decision)
	if err != nil {
		return 0, err
	}
	b := &pgx.Batch{}
	b.Queue(insertEdited, e.DeadLetter, e.EventID, revised.Key, receipt, postgres.Bytea(e.Body), revised.WorkflowID()).
		QueryRow(func(row pgx.Row) error { return row.Scan(&id) })
	detail := effects.Detail()
	detail["replaced_by"], detail["new_workflow_id"] = e.EventID, revised.WorkflowID()
	detail["new_sha256"] = hex.EncodeToString(sum[:])
	audit.Queue(b, by.Did(oversight.AuditEdit, locked.object(), locked.detail(detail)))
	return id, tx.Commit(ctx, b)
}

// revise makes the receipt of the edited event: all that the ingress received, under its own key.
func revise(ctx context.Context, t *postgres.Transaction, locked lockedDeadLetter, eventID string) (event.Receipt, error) {
	var r event.Receipt
	if err := json.Unmarshal(locked.receipt, &r); err != nil {
		return r, fmt.Errorf("decode receipt: %w", err)
	}
	root := r.Key
	if r.Replaces != "" {
		root = event.UnrevisedKey(root)
	}
	n := 0
	b := &pgx.Batch{}
	workflowID := event.WorkflowID(r.Provider, root)
	b.Queue(postgres.EventLock, workflowID) // the second of two concurrent edits sees the first one's revision
	b.Queue(freeRevision, postgres.Clean(workflowID), postgres.Clean(r.Provider), postgres.Clean(root)).
		QueryRow(func(row pgx.Row) error { return row.Scan(&n) })
	if err := t.Send(ctx, b); err != nil {
		return r, err
	}
	r.ID, r.Replaces, r.Key, r.BodyLost = eventID, r.ID, event.RevisedKey(root, n), false
	r.Large = nil
	r.Fingerprint, r.Content = "", "" // those of the original's body
	r.Earlier = nil                   // the original has that key, too
	return r, nil
}

var errEditDelivery = &event.Error{
	Class: event.ClassRejected, Code: "not_editable",
	Text: "the event is processed and could not be delivered: resend it, or discard it",
}
