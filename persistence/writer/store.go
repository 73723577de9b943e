package writer

import (
	"cmp"
	"context"
	"errors"
	"time"

	"holdfast/event"
	"holdfast/persistence/entities"
	"holdfast/persistence/postgres"
	"holdfast/persistence/subscriptions"
)

// Config bounds the writer. The zero value is the production setting.
type Config struct {
	// Waiters is how many events at once may wait for taken locks; 0 means 4, less than 0 none.
	Waiters int
	// FoldFor bounds how long a group or a batch folds entities for out-of-order events, which leave it after that; 0 means 500 ms.
	FoldFor time.Duration
	// PageSize is how many changes of an event a transaction writes; 0 means 500.
	PageSize int
}

// Store writes events. It is safe for concurrent use.
type Store struct {
	db            *postgres.DB
	entities      *entities.Store
	subscriptions *subscriptions.Store
	group         *group
	foldFor       time.Duration
	pageSize      int
}

// New makes a Store that folds entities with e and routes events with to.
func New(db *postgres.DB, e *entities.Store, to *subscriptions.Store, cfg Config) *Store {
	s := &Store{
		db: db, entities: e, subscriptions: to, foldFor: cmp.Or(cfg.FoldFor, defaultFoldFor),
		pageSize: cmp.Or(cfg.PageSize, defaultPageSize),
	}
	s.group = newGroup(s, max(cmp.Or(cfg.Waiters, maxAlone), 0))
	return s
}

// Write writes as much of an event as scope says. If another event owns the key it stores nothing, and resolves the event's dead
// letter, if any: there is nothing left to rescue.
//
// If it fails with EntitiesOnly, the next call goes on with the first page that isn't written; with any other scope, nothing has
// happened. Changes of an earlier parse are undone. The error is an *event.DecisionError if an operator has decided about the
// event: nothing was stored.
func (s *Store) Write(
	ctx context.Context, scope event.Scope, r event.Receipt, body []byte, p event.Parsed, run event.Run,
) (event.Persisted, error) {
	if scope != event.WholeOrRow {
		return s.write(ctx, scope, r, body, p, run)
	}
	persisted, err := s.write(ctx, event.WholeEvent, r, body, p, run)
	if err == nil || awaitsOperator(err) {
		return persisted, err
	}
	return s.write(ctx, event.RowOnly, r, body, p, run)
}

var writes = map[event.Scope]string{
	event.WholeEvent: "process event ", event.RowOnly: "persist event ", event.EntitiesOnly: "upsert entities of event ",
}

func (s *Store) write(
	ctx context.Context, scope event.Scope, r event.Receipt, body []byte, p event.Parsed, run event.Run,
) (persisted event.Persisted, err error) {
	defer postgres.Annotate(&err, writes[scope]+postgres.Clean(r.ID))
	w, err := newLive(r, body, p, run, scope)
	if err == nil {
		s.subscriptions.EnsureLoaded(ctx)
		err = s.route(ctx, w, s.subscriptions.FilterBudget(1))
	}
	if err != nil {
		return persisted, err
	}
	if scope == event.WholeEvent {
		err = s.writeOnce(ctx, w)
	} else {
		err = s.writeAlone(ctx, w)
	}
	if err != nil {
		if scope == event.EntitiesOnly {
			persisted.WithoutEffect = w.WithoutEffect // of the pages that are written
		}
		return persisted, err
	}
	return resultOf(w)
}

// awaitsOperator reports whether an operator must decide about the event, or has decided, so that trying again changes nothing.
func awaitsOperator(err error) bool {
	class := event.ClassOf(err)
	_, isDecided := errors.AsType[*event.DecisionError](err)
	return isDecided || class == event.ClassInDoubt || class == event.ClassConflict
}

// writeOnce writes an event in one transaction, which it may share with concurrent events.
func (s *Store) writeOnce(ctx context.Context, w *eventWrite) (err error) {
	switch {
	case len(w.changes) > s.pageSize:
		return errManyChanges
	case w.isLarge():
		err = s.writeTogether(ctx, []*eventWrite{w}, largeTimeouts, 0)
	default:
		err = s.group.write(ctx, w)
	}
	if err == nil && w.page.hasNext {
		return errManyChanges
	}
	return err
}

// resultOf returns the result of the transactions that wrote an event.
func resultOf(w *eventWrite) (event.Persisted, error) {
	if w.Decision != nil {
		return event.Persisted{}, &event.DecisionError{Decision: *w.Decision, PassedTo: w.passedTo()}
	}
	if w.Held != nil {
		return event.Persisted{PossibleDuplicateOf: w.newlyHeldFor(), Conflict: w.Conflict}, w.Held
	}
	return event.Persisted{
		PossibleDuplicateOf: w.PossibleDuplicateOf,
		Duplicate:           w.Outcome == event.OutcomeDuplicate, Owner: w.Owner, OwnerWaits: w.OwnerWaits, Conflict: w.Conflict,
		Processed: w.Outcome == event.OutcomeProcessed, WithoutEffect: w.WithoutEffect,
		Entities: w.Entities,
	}, nil
}

// passedTo returns the event that has the key of one that is decided; nil if it has the key itself.
func (w *eventWrite) passedTo() *event.KeyOwner {
	if c := w.current; w.isAnother(c) {
		return &event.KeyOwner{ID: c.owner, Fingerprint: c.ownerFingerprint}
	}
	return nil
}
