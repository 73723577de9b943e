package writer

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/entities"
	"holdfast/persistence/postgres"
)

// queueEntityLocks locks the entities of the events that fold.
func queueEntityLocks(b *pgx.Batch, ws []*write, into map[event.EntityRef]*entities.Life, removed ...event.EntityRef) {
	var events []string
	for _, w := range ws {
		if w.finishes() {
			events = append(events, w.receipt.ID)
		}
	}
	if len(events) == 0 {
		return
	}
	needs := needsOf(ws)
	for _, ref := range removed {
		needs.Remove(ref)
	}
	entities.QueueLocks(b, needs, events, into)
}

func needsOf(ws []*write) (n entities.Needs) {
	for _, w := range ws {
		for _, c := range w.changes {
			n.Add(w.refOf(c.Change), c.Change)
		}
	}
	return n
}

// errTableHeld: that is no event's trouble.
var errTableHeld = &event.Error{
	Class: event.ClassTransient, Code: "table_locked", Text: "somebody holds a whole table of the events",
}

// heldUp are the events that touch an entity which somebody else holds at this moment.
func (s *Store) heldUp(ctx context.Context, ws []*write) (map[*write]bool, error) {
	held := map[event.EntityRef]bool{}
	b := &pgx.Batch{}
	queueSettings(b, inCompany)
	entities.QueueHeld(b, needsOf(ws), held)
	tx, err := s.db.Begin(ctx, b)
	if postgres.IsLockTrouble(err) {
		return nil, errTableHeld
	}
	if err != nil {
		return nil, err
	}
	tx.Rollback(ctx)
	heldUp := map[*write]bool{}
	for _, w := range ws {
		heldUp[w] = slices.ContainsFunc(w.changes, func(c event.OrderedChange) bool { return held[w.refOf(c.Change)] })
	}
	return heldUp, nil
}
