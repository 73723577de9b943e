package persistence

import (
	"context"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
)

// claim locks an event that nothing will run, and claims its key. It says whether the event owns the key. Should it not, and be
// no duplicate of the one that does, the conflict is kept.
func claim(ctx context.Context, t *transaction, r event.Receipt) (owns bool, err error) {
	claiming := &writing{events: []*write{{receipt: r, extent: rowOnly}}}
	b := &pgx.Batch{}
	claiming.queueLook(b)
	if err := t.send(ctx, b); err != nil {
		return false, err
	}
	w := claiming.events[0]
	if err := w.judge(); err != nil {
		return false, err
	}
	if w.Conflict != nil {
		b = &pgx.Batch{}
		queueConflict(b, *w.Conflict)
		err = t.send(ctx, b)
	}
	return w.owns(), err
}

// queueClaim claims the key of an event whose lock the transaction holds, and says nothing of who has it.
func queueClaim(b *pgx.Batch, r event.Receipt) { queueClaims(b, []*write{{receipt: r}}) }
