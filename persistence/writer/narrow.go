package writer

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"holdfast/event"
	"holdfast/persistence/entities"
	"holdfast/persistence/names"
	"holdfast/persistence/postgres"
)

// Narrow processes a page of up to n items in the background, and shrinks it while one of the items may be the cause of a
// failure. An item that fails alone, by its own fault, is skipped: the last try gets the error. Each try begins its transaction
// with QueueTimeouts.
func Narrow[T any](n int, doing string, try func(n int, fault error) (T, error)) (T, error) {
	var fault error
	for races := 0; ; {
		done, err := try(n, fault)
		switch {
		case isRace(err) && races < maxRaces:
			races++
		case err == nil || !isOfOne(err):
			return done, err
		case n > 1:
			n /= 2
		case fault == nil && event.ClassOf(postgres.Failure(doing, err)) == event.ClassRejected:
			fault = postgres.Failure(doing, err)
		default:
			return done, err
		}
	}
}

// QueueTimeouts sets the lock timeout for a page of n items: short, unless n is 1.
func QueueTimeouts(b *pgx.Batch, n int) {
	p := groupTimeouts
	if n == 1 {
		p = alone
	}
	queueSettings(b, p)
}

// isRace reports whether rows were added or removed between the reads and the writes. A restarted transaction may succeed.
func isRace(err error) bool {
	var pg *pgconn.PgError
	return errors.Is(err, errKeyVanished) || errors.Is(err, errMoved) || errors.As(err, &pg) && postgres.IsLostRace(pg)
}

// isOfOne reports whether one of several events may have caused the transaction's error: by its own fault, by a lock or row of
// another transaction, or because it needs a damaged page. All other errors are database failures, which affect all events.
func isOfOne(err error) bool {
	return err != nil &&
		(postgres.IsLockFailure(err) || postgres.IsOutOfLocks(err) || postgres.IsDamage(err) || isRace(err) ||
			event.ClassOf(postgres.Failure("write events", err)) != event.ClassTransient)
}

// errTableLocked reports a locked table, which is not the fault of any event.
var errTableLocked = &event.Error{
	Class: event.ClassTransient, Code: "table_locked", Text: "another session has locked a table of the events",
}

// blocked returns the events that touch an entity locked by another transaction.
func (s *Store) blocked(ctx context.Context, ws []*eventWrite) (map[*eventWrite]bool, error) {
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
	blocked := map[*eventWrite]bool{}
	for _, w := range ws {
		blocked[w] = slices.ContainsFunc(w.changes, func(c event.OrderedChange) bool { return held[w.refOf(c.Change)] }) ||
			slices.ContainsFunc(namesOf([]*eventWrite{w}), func(name event.EntityRef) bool { return held[name] })
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
