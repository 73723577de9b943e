package writer

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/entities"
	"holdfast/persistence/names"
	"holdfast/persistence/postgres"
)

// queueEntityLocks locks the entities of the events that fold.
func queueEntityLocks(b *pgx.Batch, ws []*write, into map[event.EntityRef]*entities.Life, n *naming) {
	var events []string
	for _, w := range ws {
		if w.folds() {
			events = append(events, w.receipt.ID)
		}
	}
	if len(events) == 0 {
		return
	}
	needs := needsOf(ws)
	for _, name := range n.aliases() {
		needs.Merge(name, n.Root(name))
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

// errTableLocked reports a locked table, which is not the fault of any event.
var errTableLocked = &event.Error{
	Class: event.ClassTransient, Code: "table_locked", Text: "another session has locked a table of the events",
}

// blocked returns the events that touch an entity locked by another transaction.
func (s *Store) blocked(ctx context.Context, ws []*write) (map[*write]bool, error) {
	held := map[event.EntityRef]bool{}
	b := &pgx.Batch{}
	queueSettings(b, groupTimeouts)
	entities.QueueLocked(b, needsOf(ws), held)
	tx, err := s.db.Begin(ctx, b)
	if postgres.IsLockFailure(err) {
		return nil, errTableLocked
	}
	if err != nil {
		return nil, err
	}
	tx.Rollback(ctx)
	if err := s.findLockedNames(ctx, namesOf(ws), held); err != nil {
		return nil, err
	}
	blocked := map[*write]bool{}
	for _, w := range ws {
		blocked[w] = slices.ContainsFunc(w.changes, func(c event.OrderedChange) bool { return held[w.refOf(c.Change)] }) ||
			slices.ContainsFunc(namesOf([]*write{w}), func(name event.EntityRef) bool { return held[name] })
	}
	return blocked, nil
}

// findLockedNames looks for names locked by another transaction. It finds none if there are too many names for the available time
// or memory.
func (s *Store) findLockedNames(ctx context.Context, mentioned []event.EntityRef, held map[event.EntityRef]bool) error {
	if len(mentioned) == 0 {
		return nil
	}
	b := &pgx.Batch{}
	queueSettings(b, groupTimeouts)
	names.QueueLocked(b, mentioned, held)
	tx, err := s.db.Begin(ctx, b)
	if postgres.IsLockFailure(err) || postgres.IsOutOfLocks(err) {
		return nil
	}
	if err != nil {
		return err
	}
	tx.Rollback(ctx)
	return nil
}
