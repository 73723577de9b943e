package writer

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/journal"
	"holdfast/persistence/postgres"
)

// Claim locks an event that no run will finish, claims its key, and returns the receipt under which the event must be kept: a
// conflict under a certain key gets a key of its own. Where another event has the key, nothing of this one is kept: the error is
// an *event.VerdictError if an operator has decided about either of the two, and otherwise an *event.DuplicateError. After both
// the transaction goes on, and must be committed: it has recorded the conflict.
func Claim(ctx context.Context, t *postgres.Transaction, r event.Receipt) (event.Receipt, error) {
	w, err := claim(ctx, t, r)
	switch {
	case err != nil:
		return r, err
	case w.Verdict != nil:
		return r, &event.VerdictError{Verdict: *w.Verdict}
	case w.Conflict != nil && w.Held != nil:
		return Claim(ctx, t, r.Apart(w.found.owner))
	case w.owns() || w.Held != nil:
		return r, nil
	}
	return r, refusalOf(ctx, t, w)
}

// claim claims a key and judges the event. It records a conflict.
func claim(ctx context.Context, t *postgres.Transaction, r event.Receipt) (*write, error) {
	claiming := &writing{events: []*write{{receipt: r, extent: rowOnly}}}
	b := &pgx.Batch{}
	claiming.queueLook(b)
	if err := t.Send(ctx, b); err != nil {
		return nil, err
	}
	w := claiming.events[0]
	if err := w.judge(); err != nil || w.Conflict == nil {
		return w, err
	}
	b = &pgx.Batch{}
	journal.QueueConflict(b, *w.Conflict)
	return w, t.Send(ctx, b)
}

// refusalOf says why nothing is kept of an event whose key another event has.
func refusalOf(ctx context.Context, t *postgres.Transaction, w *write) error {
	if w.Conflict == nil {
		var v *event.Verdict
		b := &pgx.Batch{}
		QueueVerdict(b, w.Owner, &v)
		if err := t.Send(ctx, b); err != nil {
			return err
		}
		if v != nil {
			return &event.VerdictError{Verdict: *v}
		}
	}
	return &event.DuplicateError{Owner: w.Owner, OwnerWaits: w.OwnerWaits, Conflict: w.Conflict}
}

// IsRefusal reports whether Claim has said that nothing of an event is kept.
func IsRefusal(err error) bool {
	var verdict *event.VerdictError
	var duplicate *event.DuplicateError
	return errors.As(err, &verdict) || errors.As(err, &duplicate)
}

// QueueClaim claims the key of an event whose lock the transaction holds, and says nothing of who has it.
func QueueClaim(b *pgx.Batch, r event.Receipt) {
	b.Queue(claimKeys, columnsOfClaims([]*write{{receipt: r}})...)
}
