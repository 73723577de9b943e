package writer

import (
	"context"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

// Process claims the event's key, stores the event, folds its changes into their entities, marks it processed and resolves its
// dead letter, in one transaction that it may share with concurrent events. It waits only briefly for locks: on an error nothing
// has happened, and Persist and UpsertEntities take over, each failing on its own.
func (s *Store) Process(
	ctx context.Context, r event.Receipt, body []byte, p event.Parsed, run event.Run,
) (event.Persisted, error) {
	w, err := newLive(r, body, p, run, wholeEvent)
	if err == nil && len(w.changes) > s.pageSize {
		err = errManyChanges
	}
	if err == nil {
		err = s.routeFirst(ctx, w)
	}
	if err == nil {
		if w.isLarge() {
			err = s.writeTogether(ctx, []*write{w}, largeTimeouts, 0)
		} else {
			err = s.group.write(ctx, w)
		}
	}
	if err == nil && w.page.hasNext {
		err = errManyChanges
	}
	persisted, err := resultOf(w, err)
	return persisted, postgres.Failure("process event "+postgres.Clean(r.ID), err)
}

// Persist claims the event's key and stores the event, in one transaction. If another event owns the key it stores nothing, and
// resolves the event's dead letter, if any: there is nothing left to rescue. It also finishes an event that its definition
// ignores.
func (s *Store) Persist(
	ctx context.Context, r event.Receipt, body []byte, p event.Parsed, run event.Run,
) (event.Persisted, error) {
	w, err := newLive(r, body, p, run, rowOnly)
	if err == nil {
		_, err = s.writeAlone(ctx, w)
	}
	persisted, err := resultOf(w, err)
	return persisted, postgres.Failure("persist event "+postgres.Clean(r.ID), err)
}

// UpsertEntities folds the event's changes into their entities, marks the event processed and resolves its dead letter, in one
// transaction, or a page of changes in each of several: the last one finishes the event. If it fails, or isn't the only one, the
// next call goes on with the first page that isn't written. The event must have been stored by Persist. Changes of an earlier
// parse are undone. It returns how many changes have no effect because they arrived too late.
func (s *Store) UpsertEntities(
	ctx context.Context, r event.Receipt, p event.Parsed, run event.Run,
) (withoutEffect int, err error) {
	w, err := newWrite(r, nil, p, run, entitiesOnly)
	if err == nil {
		err = s.routeFirst(ctx, w)
	}
	if err == nil {
		withoutEffect, err = s.writeAlone(ctx, w)
	}
	_, err = resultOf(w, err)
	return withoutEffect, postgres.Failure("upsert entities of event "+postgres.Clean(r.ID), err)
}

// resultOf returns the result of the persist step for a transaction that ended with err. The error is an *event.DecisionError if
// an operator has decided about the event: nothing was stored.
func resultOf(w *write, err error) (event.Persisted, error) {
	if err != nil {
		return event.Persisted{}, err
	}
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
func (w *write) passedTo() *event.KeyOwner {
	if f := w.found; w.isAnother(f) {
		return &event.KeyOwner{ID: f.owner, Fingerprint: f.ownerFingerprint}
	}
	return nil
}
