package persistence

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
)

// UpsertEntities folds the event's changes into their entities, marks the event processed and resolves its open
// dead letter, in one transaction: two round trips, three if a change comes late; some more if the event has been here
// before. The event must have been stored by Persist. What an earlier parse of the event did is taken back.
func (s *Store) UpsertEntities(ctx context.Context, r event.Receipt, p event.Parsed, run event.Run) error {
	return failure("upsert entities of event "+clean(r.ID), s.upsert(ctx, r, p, run))
}

func (s *Store) upsert(ctx context.Context, r event.Receipt, p event.Parsed, run event.Run) error {
	changes, err := changesOf(r, p)
	if err != nil {
		return err
	}
	if done, err := s.upsertFirst(ctx, r, p, run, changes); done || err != nil {
		return err
	}
	return s.upsertAgain(ctx, r, p, run, changes)
}

// upsertAgain folds an event that has been here before, and so may touch entities that it does not speak of any more.
func (s *Store) upsertAgain(
	ctx context.Context, r event.Receipt, p event.Parsed, run event.Run, changes []event.OrderedChange,
) error {
	var (
		stored bool
		locked []lockedEntity
		b      = &pgx.Batch{}
	)
	b.Queue(eventLock, r.ID)
	queueFinish(b, r, p, run, &stored)
	queueLock(b, r, changes, &locked)
	queueLinks(b, r, p, changes)
	tx, err := s.begin(ctx, b)
	if err != nil {
		return err
	}
	defer tx.rollback(ctx)
	return tx.fold(ctx, r, stored, changes, locked)
}

// fold brings the locked entities up to date and commits.
func (t *transaction) fold(
	ctx context.Context, r event.Receipt, stored bool, changes []event.OrderedChange, locked []lockedEntity,
) error {
	if !stored {
		return errNotPersisted
	}
	mine := groupByEntity(clean(r.Provider), changes)
	if !allLocked(mine, locked) {
		return errEntityVanished
	}
	folded, late, err := appendChanges(locked, mine)
	if err != nil {
		return err
	}
	refolded, err := t.refold(ctx, clean(r.Provider), late)
	if err != nil {
		return err
	}
	b := &pgx.Batch{}
	queueEntities(b, clean(r.Provider), append(folded, refolded...))
	return t.commit(ctx, b)
}

// appendChanges applies changes that are the newest of their entity. Late are the entities that have to fold again: a
// change comes before one that is in the state already, or an earlier parse of the event is.
func appendChanges(
	locked []lockedEntity, changes map[event.EntityRef][]event.OrderedChange,
) (folded []event.Entity, late []event.EntityRef, err error) {
	for _, e := range locked {
		mine := changes[e.EntityRef]
		if e.linked || (!e.isNew() && mine[0].Order.Compare(e.Last) < 0) {
			late = append(late, e.EntityRef)
			continue
		}
		entity := e.Entity
		for _, c := range mine {
			if entity, err = entity.Apply(c); err != nil {
				return nil, nil, err
			}
		}
		folded = append(folded, entity)
	}
	return folded, late, nil
}

// refold folds entities from their stored links.
func (t *transaction) refold(ctx context.Context, provider string, refs []event.EntityRef) ([]event.Entity, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	histories := make(map[event.EntityRef][]event.OrderedChange, len(refs))
	b := &pgx.Batch{}
	queueHistories(b, provider, refs, histories)
	if err := t.send(ctx, b); err != nil {
		return nil, err
	}
	folded := make([]event.Entity, 0, len(refs))
	for _, ref := range refs {
		e, err := event.Fold(ref, histories[ref])
		if err != nil {
			return nil, err
		}
		folded = append(folded, e)
	}
	return folded, nil
}

// groupByEntity sorts the changes of each entity into fold order.
func groupByEntity(provider string, changes []event.OrderedChange) changesByEntity {
	groups := make(changesByEntity, len(changes))
	for _, c := range changes {
		ref := event.EntityRef{Provider: provider, Kind: c.Change.Kind, ExternalID: c.Change.ExternalID}
		groups[ref] = append(groups[ref], c)
	}
	for _, group := range groups {
		slices.SortStableFunc(group, func(a, b event.OrderedChange) int { return a.Order.Compare(b.Order) })
	}
	return groups
}

// allLocked says whether every entity that the event changes is held.
func allLocked(changes map[event.EntityRef][]event.OrderedChange, locked []lockedEntity) bool {
	held := 0
	for _, e := range locked {
		if len(changes[e.EntityRef]) > 0 {
			held++
		}
	}
	return held == len(changes)
}

var (
	// errNotPersisted: there is no row to finish. Persist was not run, or another event owns the key.
	errNotPersisted = &event.Error{
		Class: event.ClassFailed, Code: "not_persisted", Text: "the event has not been persisted",
	}
	// errEntityVanished: another transaction removed an entity, of which no event was left, while this one waited
	// for it.
	errEntityVanished = &event.Error{
		Class: event.ClassTransient, Code: "entity_vanished", Text: "an entity was removed while it was waited for",
	}
)
