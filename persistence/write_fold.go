package persistence

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
)

// changesByEntity are the changes of all events of a transaction, those of each entity in fold order.
type changesByEntity map[event.EntityRef][]event.OrderedChange

// sortedRefs are entities in the order in which rows are locked and made: bytewise.
func sortedRefs[V any](of map[event.EntityRef]V) []event.EntityRef {
	return slices.SortedFunc(maps.Keys(of), func(a, b event.EntityRef) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ExternalID, b.ExternalID))
	})
}

// fold brings the entities of the events up to date, whose rows are locked. What comes after all that its entity has folded
// goes on top of the state; where a change comes late, or an earlier parse of its event is taken back, the entity folds again
// from its stored links, which are sent for that.
func (t *writing) fold(ctx context.Context, b *pgx.Batch) error {
	changes, late := t.changes()
	var folded []event.Entity
	for _, ref := range sortedRefs(changes) {
		mine := changes[ref]
		slices.SortStableFunc(mine, func(a, b event.OrderedChange) int { return a.Order.Compare(b.Order) })
		e, there := t.held[ref]
		if late[ref] || there && mine[0].Order.Compare(e.Last) < 0 {
			late[ref] = true
			continue
		}
		e.EntityRef = ref
		for _, c := range mine {
			var err error
			if e, err = e.Apply(c); err != nil {
				return err
			}
		}
		if err := checkSize(e); err != nil {
			return err
		}
		folded = append(folded, e)
	}
	if len(late) > 0 {
		refolded, err := t.refold(ctx, b, sortedRefs(late))
		if err != nil {
			return err
		}
		folded = append(folded, refolded...)
	}
	queueEntities(b, folded, t.held)
	return nil
}

// changes are those of all events that change their links, and the entities of links that go.
func (t *writing) changes() (changesByEntity, map[event.EntityRef]bool) {
	changes, gone := changesByEntity{}, map[event.EntityRef]bool{}
	for _, w := range t.events {
		if !w.relinks() {
			continue
		}
		for _, l := range w.found.links {
			gone[w.refOf(l.Change)] = true
		}
		for _, c := range w.changes {
			ref := w.refOf(c.Change)
			changes[ref] = append(changes[ref], c)
		}
	}
	return changes, gone
}

// refold sends b, and folds entities from their links.
func (t *transaction) refold(ctx context.Context, b *pgx.Batch, refs []event.EntityRef) ([]event.Entity, error) {
	histories := make(changesByEntity, len(refs))
	queueHistories(b, refs, histories)
	if err := t.send(ctx, b); err != nil {
		return nil, err
	}
	*b = pgx.Batch{}
	folded := make([]event.Entity, 0, len(refs))
	for _, ref := range refs {
		e, err := event.Fold(ref, histories[ref])
		if err == nil {
			err = checkSize(e)
		}
		if err != nil {
			return nil, err
		}
		folded = append(folded, e)
	}
	return folded, nil
}

// maxEntity is how many bytes the state of an entity may take with its numbers written out: a patch has to read all of it.
const maxEntity = 8 << 20

// checkSize refuses what would make an entity too large, as the event's own fault: the entity stays as it is.
func checkSize(e event.Entity) error {
	if len(e.State) <= maxEntity/maxExponent || expandedSize(e.State) <= maxEntity {
		return nil
	}
	kind := clip(clean(e.Kind), 100)
	return event.Rejectf("entity_too_large", "an entity of kind %q would take more than %d bytes", kind, maxEntity)
}
