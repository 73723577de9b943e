package persistence

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
)

// sortedRefs are entities in the order in which rows are locked and made: bytewise.
func sortedRefs[V any](of map[event.EntityRef]V) []event.EntityRef {
	return slices.SortedFunc(maps.Keys(of), func(a, b event.EntityRef) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ExternalID, b.ExternalID))
	})
}

// touch is what becomes of the links of an entity in a transaction.
type touch struct {
	come, gone []event.OrderedChange
	moved      event.Order // the first change of those that have come from a merged entity; zero: none
}

type touches map[event.EntityRef]*touch

func (t touches) of(ref event.EntityRef) *touch {
	if t[ref] == nil {
		t[ref] = &touch{}
	}
	return t[ref]
}

// touches are those of all events that change their links.
func (t *writing) touches() touches {
	all := touches{}
	for _, w := range t.events {
		if !w.relinks() {
			continue
		}
		for _, l := range w.found.links {
			of := all.of(w.refOf(l.Change))
			of.gone = append(of.gone, l)
		}
		for _, c := range w.changes {
			of := all.of(w.refOf(c.Change))
			of.come = append(of.come, c)
		}
	}
	if t.naming != nil {
		for ref, first := range t.naming.merged {
			all.of(ref).moved = first
		}
	}
	return all
}

// fold brings entities up to date, whose rows are locked. Where that takes more than their rows, b is sent.
func (t *transaction) fold(ctx context.Context, b *pgx.Batch, all touches, held map[event.EntityRef]*life) error {
	var folded []*life
	var again []*late
	for _, ref := range sortedRefs(all) {
		l := held[ref]
		if l == nil {
			l = newLife(ref)
		}
		come, from := all[ref].shows(l)
		switch {
		case all[ref].isLate(l, from):
			a := newLate(l, from)
			again, folded = append(again, a), append(folded, a.life)
		case len(come) > 0:
			if err := l.grow(come, t.every); err != nil {
				return err
			}
			l.end(t.every)
			folded = append(folded, l)
		case held[ref] == nil:
			folded = append(folded, l)
		}
	}
	if len(again) > 0 {
		if err := t.foldLate(ctx, b, again); err != nil {
			return err
		}
	}
	for _, l := range folded {
		if err := checkSize(l.Entity); err != nil {
			return err
		}
	}
	queueCheckpoints(b, folded, t.every)
	queueEntities(b, folded, held)
	return nil
}

// shows gives those of the changes that come which show in the entity, in fold order, and the least order of all that come or
// go. It is zero where nothing shows.
func (t *touch) shows(l *life) (come []event.OrderedChange, from event.Order) {
	for i, c := range slices.Concat(t.come, t.gone) {
		if c.Change.Mentions() || l.ignores(c.Order) {
			continue
		}
		if i < len(t.come) {
			come = append(come, c)
		}
		if from.EventID == "" || c.Order.Compare(from) < 0 {
			from = c.Order
		}
	}
	if t.moved.EventID != "" && (from.EventID == "" || t.moved.Compare(from) < 0) {
		from = t.moved
	}
	slices.SortStableFunc(come, func(a, b event.OrderedChange) int { return a.Order.Compare(b.Order) })
	return come, from
}

// isLate says whether the entity has to be folded again: something comes before what it has folded, or goes. Where no change is
// left, even a mention that goes may have been the last of it, and releases that did not count took it for a change.
func (t *touch) isLate(l *life, from event.Order) bool {
	if from.EventID == "" {
		return len(t.gone) > 0 && (l.Last.EventID == "" || !l.isKnown)
	}
	return !l.appends(from) || t.moved.EventID != "" || slices.ContainsFunc(t.gone, func(c event.OrderedChange) bool {
		return !c.Change.Mentions() && !l.ignores(c.Order)
	})
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
