package decisions

import (
	"cmp"
	"context"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/feed"
	"holdfast/event/oversight"
	"holdfast/persistence/audit"
	"holdfast/persistence/changes"
	"holdfast/persistence/entities"
	"holdfast/persistence/keys"
	"holdfast/persistence/postgres"
)

// Storing a decision and writing the event both require the event's lock, so one comes first. A writer reads the decision in the
// statements that write, after the statement that locks.
const (
	selectDecision = `
SELECT event_id::text, decision, at, by, reason, coalesce(replaced_by::text, '') FROM decisions WHERE event_id = $1::uuid`

	// An expunged event stays expunged.
	insertDecision = `
INSERT INTO decisions AS v (event_id, decision, by, reason, replaced_by)
VALUES ($1::uuid, $2, $3, $4, nullif($5, '')::uuid)
    ON CONFLICT (event_id) DO UPDATE
   SET decision = excluded.decision, at = excluded.at, by = excluded.by, reason = excluded.reason,
       replaced_by = excluded.replaced_by
 WHERE v.decision <> 'expunged'`
)

// Store stores decisions. It is safe for concurrent use.
type Store struct {
	db       *postgres.DB
	entities *entities.Store
}

// New makes a Store that folds entities with e.
func New(db *postgres.DB, e *entities.Store) *Store { return &Store{db, e} }

// Decision returns the operator's decision about an event. It returns event.ErrNotFound if there is none.
func (s *Store) Decision(ctx context.Context, eventID string) (event.Decision, error) {
	var v *event.Decision
	b := &pgx.Batch{}
	Queue(b, eventID, &v)
	err := s.db.SendOnly(ctx, b)
	if err == nil && v == nil {
		err = event.ErrNotFound
	}
	if err != nil {
		return event.Decision{}, postgres.Failure("read decision about event "+postgres.Clean(eventID), err)
	}
	return *v, nil
}

// Queue reads the decision about an event; nil if there is none.
func Queue(b *pgx.Batch, eventID string, into **event.Decision) {
	b.Queue(selectDecision, eventID).Query(func(rows pgx.Rows) error {
		var v event.Decision
		columns := []any{&v.EventID, &v.Outcome, &v.At, &v.By, &v.Reason, &v.ReplacedBy}
		_, err := pgx.ForEachRow(rows, columns, func() error {
			*into = &v
			return nil
		})
		return err
	})
}

// By makes an operator's decision about an event.
func By(by oversight.Actor, eventID string, outcome event.Outcome) event.Decision {
	return event.Decision{
		EventID: eventID, Outcome: outcome, By: postgres.Clip(postgres.Clean(cmp.Or(by.Name, "unknown")), audit.MaxName),
		Reason: postgres.Clip(postgres.Clean(by.Reason), audit.MaxReason),
	}
}

// Decide stores a decision: it undoes what the event did to entities, and keeps the keys of its receipts. The transaction
// holds the event's lock. Like writers, it locks keys before entities.
func (s *Store) Decide(
	ctx context.Context, t *postgres.Transaction, v event.Decision, receipts ...event.Receipt,
) (taken Effects, err error) {
	if err := storeDecision(ctx, t, v, receipts); err != nil {
		return taken, err
	}
	return Undo(ctx, s.entities, t, v.EventID)
}

// Expunge is Decide for an expunged event of a provider. An entity becomes incomplete if its base covers the event, or if it
// can't be folded again because a purge removed earlier changes, unless its history was read from the archive.
func (s *Store) Expunge(
	ctx context.Context, t *postgres.Transaction, v event.Decision, provider string, archived entities.Archived,
	receipts ...event.Receipt,
) (taken Effects, err error) {
	if err := storeDecision(ctx, t, v, receipts); err != nil {
		return taken, err
	}
	return (&undoing{eventID: v.EventID, isExpunged: true, provider: provider, archived: archived}).undo(ctx, s.entities, t)
}

func storeDecision(ctx context.Context, t *postgres.Transaction, v event.Decision, receipts []event.Receipt) error {
	b := &pgx.Batch{}
	for _, r := range receipts {
		keys.QueueKeep(b, r, v.EventID)
	}
	b.Queue(insertDecision, v.EventID, string(v.Outcome), v.By, v.Reason, v.ReplacedBy)
	changes.Queue(b, changesOf(v, receipts))
	return t.Send(ctx, b)
}

// changesOf returns the change events of a decision, for events of which more than the key is left.
func changesOf(v event.Decision, receipts []event.Receipt) []feed.Change {
	if len(receipts) == 0 {
		return nil
	}
	return []feed.Change{{
		Subject: feed.Event, Action: feed.Action(v.Outcome), Provider: postgres.Clean(receipts[0].Provider),
		Kind: postgres.Clean(receipts[0].Type), ID: v.EventID,
	}}
}
