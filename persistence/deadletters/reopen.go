package deadletters

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/persistence/audit"
	"holdfast/persistence/postgres"
)

const (
	// lockDecisions locks the decisions about an event, about the one that it replaces and about the one that replaces it, in the
	// common order.
	lockDecisions = `
SELECT event_id::text, decision, by, coalesce(replaced_by::text, '') FROM decisions
 WHERE event_id = ANY ($1::uuid[]) ORDER BY decisions.event_id FOR UPDATE`

	deleteDecision = `DELETE FROM decisions WHERE event_id = $1::uuid`

	// The key kept for an event without a row stays kept: the event claims it again.
	reopenDeadLetter = `
UPDATE dead_letters
   SET state = 'open', discarded_at = NULL, discarded_by = NULL, discard_reason = NULL, replaced_by = NULL, auto_attempts = 0,
       next_replay_at = NULL
 WHERE id = $1`
)

// ReopenDeadLetter undoes a discard: the dead letter is open, and the next attempt may process the event. Of an event and its
// edits only one may count, so an event that was replaced can be reopened only once its edit is discarded, and the edit stays
// discarded from then on. An event that was split stays replaced: its other parts count, whatever became of the first one.
// Otherwise the error is a *event.StateError.
func (s *Store) ReopenDeadLetter(ctx context.Context, id int64, by oversight.Actor) error {
	return s.closeDeadLetter(ctx, "reopen", id, func(tx *postgres.Transaction, h lockedDeadLetter, b *pgx.Batch) error {
		if h.state != event.DeadLetterDiscarded {
			return h.refusal()
		}
		if h.subscription != 0 {
			b.Queue(reopenDeadLetter, h.id)
			audit.Queue(b, by.Did(oversight.AuditReopen, h.object(), h.detail(nil)))
			return nil
		}
		free, err := isAlone(ctx, tx, h)
		if err != nil {
			return err
		}
		if !free {
			return h.refusal()
		}
		b.Queue(deleteDecision, h.eventID)
		b.Queue(reopenDeadLetter, h.id)
		audit.Queue(b, by.Did(oversight.AuditReopen, h.object(), h.detail(nil)))
		return nil
	})
}

// isAlone reports whether neither an edit or a part of this event nor its original counts.
func isAlone(ctx context.Context, t *postgres.Transaction, h lockedDeadLetter) (bool, error) {
	var r event.Receipt
	if err := json.Unmarshal(h.receipt, &r); err != nil {
		return false, fmt.Errorf("decode receipt: %w", err)
	}
	ids := []string{h.eventID}
	for _, relative := range []string{r.Replaces, h.replacedBy} {
		if relative != "" {
			ids = append(ids, relative)
		}
	}
	type decision struct {
		outcome        event.Outcome
		by, replacedBy string
	}
	decisions := map[string]decision{}
	b := &pgx.Batch{}
	var id string
	var v decision
	b.Queue(lockDecisions, ids).Query(postgres.ForEach([]any{&id, &v.outcome, &v.by, &v.replacedBy}, func() { decisions[id] = v }))
	if err := t.Send(ctx, b); err != nil {
		return false, err
	}
	if decisions[h.eventID].by == event.Splitter {
		return false, nil
	}
	if r.Replaces != "" && decisions[r.Replaces].replacedBy != h.eventID {
		return false, nil
	}
	edit := decisions[h.replacedBy].outcome
	return h.replacedBy == "" || edit == event.OutcomeDiscarded || edit == event.OutcomeExpunged, nil
}
