package entities

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/feed"
	"holdfast/persistence/postgres"
)

// SortedRefs returns entities in the order in which rows are locked and inserted: bytewise.
func SortedRefs[V any](of map[event.EntityRef]V) []event.EntityRef {
	return slices.SortedFunc(maps.Keys(of), func(a, b event.EntityRef) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ExternalID, b.ExternalID))
	})
}

// Touch lists the links that a transaction adds to and removes from an entity.
type Touch struct {
	Come, Gone []event.OrderedChange
	// Moved is the position of the first change moved here from a merged entity; zero if none.
	Moved event.Order
	// Merged lists the entities that were merged into this one.
	Merged []*Life
	// IsPurged means that the links of Gone belong to an event whose row was purged.
	IsPurged bool
	// InBase means that the base contains, or may contain, what an expunged event did.
	InBase bool
	// Again means that the base was replaced: the entity must be folded again.
	Again bool
	// InPages means that an earlier transaction may have added other changes of the same event.
	InPages bool

	// IsIncomplete is set by Fold.
	IsIncomplete bool
}

// lose records what the entity loses with the removed links.
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

// Touches maps entities to their touches.
type Touches map[event.EntityRef]*Touch

// Of returns an entity's Touch, and adds it if there is none.
func (t Touches) Of(ref event.EntityRef) *Touch {
	if t[ref] == nil {
		t[ref] = &Touch{}
	}
	return t[ref]
}

// Fold updates entities whose rows are locked, and returns their change events. New entities begin with the given revision. It
// sends b if the fold needs more than their rows. If a fold still needs another page of changes at the time until, it returns a
// *SlowError; a zero until means no limit.
func (s *Store) Fold(
	ctx context.Context, t *postgres.Transaction, b *pgx.Batch, all Touches, locked map[event.EntityRef]*Life, revision int64,
	until time.Time,
) ([]feed.Change, error) {
	var folded []*Life
	var again []*refold
	for _, ref := range SortedRefs(all) {
		l := locked[ref]
		if l == nil {
			l = newLife(ref)
			l.revision = revision
		}
		all[ref].lose(l)
		come, from := all[ref].shows(l)
		switch {
		case all[ref].Again || all[ref].mustRefold(l, from) || locked[ref] != nil && l.hasLost() && !l.isKnown:
			a := newRefold(l, from)
			again, folded = append(again, a), append(folded, a.Life)
		case len(come) > 0:
			if err := l.grow(come, s.every); err != nil {
				return nil, err
			}
			l.end(s.every)
			folded = append(folded, l)
		case locked[ref] == nil || l.hasLost():
			folded = append(folded, l)
		}
	}
	if len(again) > 0 {
		slow, err := refoldAll(ctx, t, b, again, s.every, until)
		if err == nil && len(slow) > 0 {
			err = all.slowError(slow, locked)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := checkSizes(folded); err != nil {
		return nil, err
	}
	for _, l := range folded {
		all[l.EntityRef].IsIncomplete = l.isIncomplete() && !l.isGone
	}
	queueCheckpoints(b, folded, s.every)
	return queueEntities(b, folded, locked), nil
}

// shows returns the added changes that have an effect on the entity, in fold order, and the first position at which a change
// with an effect is added or removed; zero if there is none.
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
		if l.Covers(moved) { // only those after the base have an effect
			moved = l.base
		}
		if from.EventID == "" || moved.Compare(from) < 0 {
			from = moved
		}
	}
	slices.SortStableFunc(come, func(a, b event.OrderedChange) int { return a.Order.Compare(b.Order) })
	return come, from
}

// mustRefold reports whether the entity must be folded again, because a change is removed, or added before one that is already
// folded. A removed mention also counts if the entity has no changes, since it may have been its last link, or if the row has
// no counts, since releases without counts treated mentions as changes.
func (t *Touch) mustRefold(l *Life, from event.Order) bool {
	if from.EventID == "" {
		return len(t.Gone) > 0 && (l.Last.EventID == "" || !l.isKnown)
	}
	if !l.appends(from) || t.InPages && from.Compare(l.Last) == 0 || t.Moved.EventID != "" {
		return true
	}
	return slices.ContainsFunc(t.Gone, func(c event.OrderedChange) bool {
		return !c.Change.Mentions() && !l.ignores(c.Order)
	})
}

// maxEntity is the maximum size of an entity's state in bytes, with its numbers written out without exponents. A patch reads
// all of it.
const maxEntity = 8 << 20

// LargeError reports entities that changes would make too large. It is the event's fault; the entities stay as they are.
type LargeError struct{ Refs []event.EntityRef }

// Error implements error.
func (e *LargeError) Error() string { return e.Unwrap().Error() }

// Unwrap returns the class and the code.
func (e *LargeError) Unwrap() error {
	kind := postgres.Clip(postgres.Clean(e.Refs[0].Kind), 100)
	return event.Rejectf("entity_too_large", "an entity of kind %q would exceed %d bytes", kind, maxEntity)
}

func checkSizes(folded []*Life) error {
	e := &LargeError{}
	for _, l := range folded {
		if !fits(l.Entity) {
			e.Refs = append(e.Refs, l.EntityRef)
		}
	}
	if len(e.Refs) > 0 {
		return e
	}
	return nil
}

func fits(e event.Entity) bool {
	return len(e.State) <= maxEntity/postgres.MaxGrowth || postgres.ExpandedSize(e.State) <= maxEntity
}

// SlowError reports that out-of-order events took too long to fold.
type SlowError struct{ events []string }

// errSlow isn't the event's fault: outside a group, the fold has more time.
var errSlow = &event.Error{
	Class: event.ClassTransient, Code: "slow_fold",
	Text: "an event is so far out of order that folding its entity takes too long for a group",
}

// Error implements error.
func (*SlowError) Error() string { return errSlow.Error() }

// Unwrap returns the class and the code.
func (*SlowError) Unwrap() error { return errSlow }

// IsOf reports whether an event is one of those that were out of order. It is true for every event if they aren't known.
func (e *SlowError) IsOf(eventID string) bool {
	return len(e.events) == 0 || slices.Contains(e.events, eventID)
}

// slowError names the events whose changes to slow entities are out of order and, for an entity that gets the links of another,
// all events that touch it.
func (t Touches) slowError(slow []*refold, locked map[event.EntityRef]*Life) *SlowError {
	e := &SlowError{}
	for _, a := range slow {
		of, l := t[a.EntityRef], locked[a.EntityRef]
		for _, c := range of.Come {
			if of.Moved.EventID != "" || l == nil || !l.appends(c.Order) {
				e.events = append(e.events, c.Order.EventID)
			}
		}
		for _, c := range of.Gone {
			e.events = append(e.events, c.Order.EventID)
		}
	}
	return e
}

// Config configures how entities are folded. The zero value is the default.
type Config struct {
	// LinksPerCheckpoint is the number of changes between two checkpoints of an entity; 0 means 64.
	LinksPerCheckpoint int64
}

// Store folds entities. It is safe for concurrent use.
type Store struct {
	db *postgres.DB
	// every is Config.LinksPerCheckpoint.
	every int64
}

// New returns a Store that uses db.
func New(db *postgres.DB, cfg Config) *Store {
	return &Store{db: db, every: cmp.Or(cfg.LinksPerCheckpoint, linksPerCheckpoint)}
}
