package entities

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/feed"
	"holdfast/persistence/postgres"
)

// SortedRefs are entities in the order in which rows are locked and made: bytewise.
func SortedRefs[V any](of map[event.EntityRef]V) []event.EntityRef {
	return slices.SortedFunc(maps.Keys(of), func(a, b event.EntityRef) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ExternalID, b.ExternalID))
	})
}

// Touch is what becomes of the links of an entity in a transaction.
type Touch struct {
	Come, Gone []event.OrderedChange
	// Moved is the first change of those that have come from a merged entity; zero: none.
	Moved event.Order
	// Merged are the entities that were merged into this one.
	Merged []*Life
	// IsPurged says that those of Gone are of an event whose row a purge has removed.
	IsPurged bool
	// InBase says that the base holds, or may hold, what an expunged event did.
	InBase bool
	// Again says that the base is another one now, so that the entity is folded again.
	Again bool

	// IsIncomplete is what Fold says of the entity.
	IsIncomplete bool
}

// lose notes what is lost with what goes.
func (t *Touch) lose(l *Life) {
	for _, m := range t.Merged {
		l.absorb(m)
	}
	if t.IsPurged {
		l.mayHaveLost(t.Gone)
	}
	if t.InBase && l.IsCollapsed() {
		l.lose(l.base)
	}
}

// Touches are those of entities.
type Touches map[event.EntityRef]*Touch

// Of is the touch of an entity, which is made if there is none.
func (t Touches) Of(ref event.EntityRef) *Touch {
	if t[ref] == nil {
		t[ref] = &Touch{}
	}
	return t[ref]
}

// Fold brings entities up to date, whose rows are locked, and tells what has become of them. Those that it makes begin with the
// given revision. Where that takes more than their rows, b is sent. A fold that needs another page of changes after until ends
// with a *SlowError; a zero until lets it go on.
func (s *Store) Fold(
	ctx context.Context, t *postgres.Transaction, b *pgx.Batch, all Touches, held map[event.EntityRef]*Life, revision int64,
	until time.Time,
) ([]feed.Change, error) {
	var folded []*Life
	var again []*late
	for _, ref := range SortedRefs(all) {
		l := held[ref]
		if l == nil {
			l = newLife(ref)
			l.revision = revision
		}
		all[ref].lose(l)
		come, from := all[ref].shows(l)
		switch {
		case all[ref].Again || all[ref].isLate(l, from) || held[ref] != nil && l.hasLost() && !l.isKnown:
			a := newLate(l, from)
			again, folded = append(again, a), append(folded, a.Life)
		case len(come) > 0:
			if err := l.grow(come, s.every); err != nil {
				return nil, err
			}
			l.end(s.every)
			folded = append(folded, l)
		case held[ref] == nil || l.hasLost():
			folded = append(folded, l)
		}
	}
	if len(again) > 0 {
		slow, err := foldLate(ctx, t, b, again, s.every, until)
		if err == nil && len(slow) > 0 {
			err = all.slowError(slow, held)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, l := range folded {
		if err := checkSize(l.Entity); err != nil {
			return nil, err
		}
		all[l.EntityRef].IsIncomplete = l.isIncomplete() && !l.isGone
	}
	queueCheckpoints(b, folded, s.every)
	return queueEntities(b, folded, held), nil
}

// shows gives those of the changes that come which show in the entity, in fold order, and the least order of all that come or
// go. It is zero where nothing shows.
func (t *Touch) shows(l *Life) (come []event.OrderedChange, from event.Order) {
	for i, c := range slices.Concat(t.Come, t.Gone) {
		if c.Change.Mentions() || l.ignores(c.Order) {
			continue
		}
		if i < len(t.Come) {
			come = append(come, c)
		}
		if from.EventID == "" || c.Order.Compare(from) < 0 {
			from = c.Order
		}
	}
	if moved := t.Moved; moved.EventID != "" {
		if l.Covers(moved) { // those after the base show
			moved = l.base
		}
		if from.EventID == "" || moved.Compare(from) < 0 {
			from = moved
		}
	}
	slices.SortStableFunc(come, func(a, b event.OrderedChange) int { return a.Order.Compare(b.Order) })
	return come, from
}

// isLate says whether the entity has to be folded again: something comes before what it has folded, or goes. Where no change is
// left, even a mention that goes may have been the last of it, and releases that did not count took it for a change.
func (t *Touch) isLate(l *Life, from event.Order) bool {
	if from.EventID == "" {
		return len(t.Gone) > 0 && (l.Last.EventID == "" || !l.isKnown)
	}
	return !l.appends(from) || t.Moved.EventID != "" || slices.ContainsFunc(t.Gone, func(c event.OrderedChange) bool {
		return !c.Change.Mentions() && !l.ignores(c.Order)
	})
}

// maxEntity is how many bytes the state of an entity may take with its numbers written out: a patch has to read all of it.
const maxEntity = 8 << 20

// checkSize refuses what would make an entity too large, as the event's own fault: the entity stays as it is.
func checkSize(e event.Entity) error {
	if fits(e) {
		return nil
	}
	kind := postgres.Clip(postgres.Clean(e.Kind), 100)
	return event.Rejectf("entity_too_large", "an entity of kind %q would take more than %d bytes", kind, maxEntity)
}

func fits(e event.Entity) bool {
	return len(e.State) <= maxEntity/postgres.MaxExponent || postgres.ExpandedSize(e.State) <= maxEntity
}
