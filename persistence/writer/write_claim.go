package writer

import (
	"context"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/journal"
	"holdfast/persistence/postgres"
)

// Claim locks an event that nothing will run, and claims its key. It reports whether the event must be kept: it owns the key, or
// its key is certain and belongs to an event with other content. Any other conflict is only recorded.
func Claim(ctx context.Context, t *postgres.Transaction, r event.Receipt) (owns bool, err error) {
	claiming := &writing{events: []*write{{receipt: r, extent: rowOnly}}}
	b := &pgx.Batch{}
	claiming.queueLook(b)
	if err := t.Send(ctx, b); err != nil {
		return false, err
	}
	w := claiming.events[0]
	if err := w.judge(); err != nil {
		return false, err
	}
	if w.Conflict != nil {
		b = &pgx.Batch{}
		journal.QueueConflict(b, *w.Conflict)
		err = t.Send(ctx, b)
	}
	return w.owns() || w.Held != nil, err
}

// QueueClaim claims the key of an event whose lock the transaction holds, and says nothing of who has it.
func QueueClaim(b *pgx.Batch, r event.Receipt) {
	b.Queue(claimKeys, columnsOfClaims([]*write{{receipt: r}})...)
}
