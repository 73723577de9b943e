package writer

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/decisions"
	"holdfast/persistence/duplicates"
	"holdfast/persistence/postgres"
)

// Claim claims the key of an event that no run will finish.
type Claim struct{ transaction }

// NewClaim makes a claim of the key of r.
func NewClaim(r event.Receipt) *Claim {
	return &Claim{transaction{events: []*eventWrite{{receipt: r, scope: event.RowOnly}}}}
}

// Queue locks the event and claims its key.
func (c *Claim) Queue(b *pgx.Batch) { c.queueReads(b, timeouts{}) }

// Settle returns the receipt under which the event must be kept, in the transaction that has claimed the key: a conflict under a
// certain key gets a key of its own. If another event owns the key, nothing of this one is kept: the error is an
// *event.DecisionError if an operator has decided about either of the two, and otherwise an *event.DuplicateError. In both cases
// the transaction goes on and must be committed, since it has recorded the conflict.
func (c *Claim) Settle(ctx context.Context, t *postgres.Transaction) (event.Receipt, error) {
	w := c.events[0]
	r, err := w.receipt, w.decide()
	if err != nil {
		return r, err
	}
	if w.Conflict != nil {
		b := &pgx.Batch{}
		duplicates.QueueConflict(b, *w.Conflict)
		if err := t.Send(ctx, b); err != nil {
			return r, err
		}
	}
	if w.isRedelivery() {
		b := &pgx.Batch{}
		queueRedeliveries(b, c.events)
		if err := t.Send(ctx, b); err != nil {
			return r, err
		}
	}
	switch {
	case w.Decision != nil:
		return r, &event.DecisionError{Decision: *w.Decision}
	case w.Conflict != nil && (w.Held != nil || r.ConflictsWith != ""): // held for an operator, it is never dropped
		apart := NewClaim(r.WithConflictKey(w.current.owner))
		b := &pgx.Batch{}
		apart.Queue(b)
		if err := t.Send(ctx, b); err != nil {
			return r, err
		}
		return apart.Settle(ctx, t)
	case w.owns() || w.Held != nil:
		return r, nil //nolint:nilerr // Held is why it must be kept
	}
	return r, refusalOf(ctx, t, w)
}

// Owns reports, in the transaction that has claimed the key, whether the event itself goes on: it owns its key, and no operator
// has decided about it or must. The status is that of its row.
func (c *Claim) Owns() (owns bool, status event.Status, err error) {
	w := c.events[0]
	err = w.decide()
	return err == nil && w.owns(), w.current.status, err
}

// refusalOf returns why nothing is kept of an event whose key another event owns.
func refusalOf(ctx context.Context, t *postgres.Transaction, w *eventWrite) error {
	if w.Conflict == nil {
		var v *event.Decision
		b := &pgx.Batch{}
		decisions.Queue(b, w.Owner, &v)
		if err := t.Send(ctx, b); err != nil {
			return err
		}
		if v != nil {
			return &event.DecisionError{Decision: *v}
		}
	}
	return &event.DuplicateError{Owner: w.Owner, OwnerWaits: w.OwnerWaits, Conflict: w.Conflict}
}

// IsRefusal reports whether err is a claim's refusal to keep the event.
func IsRefusal(err error) bool {
	var decision *event.DecisionError
	var duplicate *event.DuplicateError
	return errors.As(err, &decision) || errors.As(err, &duplicate)
}
