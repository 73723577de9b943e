package entities

import (
	"math"
	"slices"
	"time"

	"holdfast/event"
	"holdfast/event/fold"
	"holdfast/feed"
)

// Life is an entity with what it knows of the changes that it is folded from. A change that comes to it is one of these:
//
//	a mention               it makes the entity if it is not there, and else touches nothing
//	up to the base          it is linked, and nothing else: retention has collapsed the changes that it belongs between
//	before the last reset   it is linked, and nothing else: a snapshot or a delete came later, and shows alone
//	after the last change   it goes on top of the state
//	between the two         it is late: the entity is folded from the last checkpoint before it, or from the reset
//
// A change that is taken back is late, too. A checkpoint is the state at some change since the reset. What is late removes those
// that come after it, and makes them again on its way, so that each is at any time what its entity was.
type Life struct {
	event.Entity

	// isKnown: the row was written by a release that counts. What follows is of the changes from the last reset on, without what its
	// own event did before it: retention removes that.
	isKnown bool
	links   int64
	reset   event.Order // zero: there was none
	base    event.Order // up to which its changes are collapsed; zero: none are. There is no reset at or before it
	lost    event.Order // before which changes are gone that no base holds; zero: none are. See IsIncomplete
	purged  purged
	latest  time.Time // when the latest of them occurred, which need not be the last in order

	at      event.Order // of the last change that is counted
	covered int64       // what links were when a checkpoint could last be made
	before  int64       // what they were in the row

	made []checkpoint
	// above: the checkpoints of the entity that cover more links are void.
	above  int64
	isGone bool

	// revision counts the changes of the row. row is what it was; nil where there was none.
	revision int64
	row      *Life
}

// checkpoint is what an entity was when it covered so many links.
type checkpoint struct {
	event.Entity

	links  int64
	latest time.Time
}

func newLife(ref event.EntityRef) *Life {
	return &Life{
		Entity: event.Entity{EntityRef: ref, State: []byte(`{}`)}, isKnown: true, above: math.MaxInt64,
		purged: purged{events: new(int64)},
	}
}

// ignores says whether a change, or its absence, shows in nothing.
func (l *Life) ignores(o event.Order) bool {
	return l.Covers(o) || l.isKnown && l.reset.EventID != "" && o.Compare(l.reset) < 0
}

// IsCollapsed says whether a part of the life is.
func (l *Life) IsCollapsed() bool { return l.base.EventID != "" }

// Covers says whether a place is in the part of the life that is collapsed.
func (l *Life) Covers(o event.Order) bool { return l.IsCollapsed() && o.Compare(l.base) <= 0 }

// appends says whether a change comes after all.
func (l *Life) appends(o event.Order) bool { return l.Last.EventID == "" || o.Compare(l.Last) >= 0 }

// grow applies changes in fold order, and keeps checkpoints: one each time that the entity has so many links more.
func (l *Life) grow(changes []event.OrderedChange, every int64) error {
	next := 0
	for i, c := range changes {
		if c.Change.Mentions() {
			continue
		}
		if l.isDue(every) && c.Order.Compare(l.at) != 0 { // an event is covered as a whole
			if err := l.apply(changes[next:i]); err != nil {
				return err
			}
			next = i
			l.keep(every)
		}
		l.count(c)
	}
	return l.apply(changes[next:])
}

// end keeps the last checkpoint.
func (l *Life) end(every int64) {
	if l.isDue(every) {
		l.keep(every)
	}
}

func (l *Life) apply(changes []event.OrderedChange) (err error) {
	l.Entity, err = fold.Apply(l.Entity, changes...)
	return err
}

func (l *Life) count(c event.OrderedChange) {
	l.at = c.Order
	if c.Change.Resets() {
		l.isKnown, l.reset, l.links, l.latest = true, c.Order, 0, c.Order.OccurredAt
		l.covered, l.made, l.above = 0, nil, 0
	}
	l.links++
	if c.Order.OccurredAt.After(l.latest) {
		l.latest = c.Order.OccurredAt
	}
}

func (l *Life) isDue(every int64) bool { return l.isKnown && l.links/every > l.covered/every }

// keep makes a checkpoint, and leaves out those that have come too near to each other. One that would be too large is not made:
// an entity may have been larger than it may be, for as long as a change was not there.
func (l *Life) keep(every int64) {
	l.covered = l.links
	if checkSize(l.Entity) != nil {
		return
	}
	l.made = slices.DeleteFunc(l.made, func(c checkpoint) bool { return !isKept(c.links/every, l.links/every) })
	l.made = append(l.made, checkpoint{Entity: l.Entity, links: l.links, latest: l.latest})
}

// isKept says whether the nth checkpoint is still there when the newest is made. It is there for twice as long as the greatest
// power of two that divides n. So there is always one between d and three times d before the newest, and each new one removes one
// at most. The statement dropCheckpoints says the same.
func isKept(n, newest int64) bool { return n+2*(n&-n) > newest }

// isAs says whether the row would not change. The state comes last, since it has to be read.
func (l *Life) isAs(row *Life) bool {
	return l.Deleted == row.Deleted && l.Last.Compare(row.Last) == 0 && l.reset.Compare(row.reset) == 0 &&
		l.isKnown == row.isKnown && l.links == row.links && l.latest.Equal(row.latest) &&
		l.lost.Compare(row.lost) == 0 && l.purged.isAs(row.purged) && SameJSON(l.State, row.State)
}

// Removed tells that the row goes since its links are another entity's now.
func (l *Life) Removed() feed.Change {
	l.revision++
	return l.tell(feed.Removed)
}

// tell is what has become of the entity.
func (l *Life) tell(action feed.Action) feed.Change {
	if l.Deleted && action != feed.Removed {
		action = feed.Deleted
	}
	return feed.Change{
		Subject: feed.Entity, Action: action, Provider: l.Provider, Kind: l.Kind, ID: l.ExternalID, Revision: l.revision,
		EventID: l.Last.EventID,
	}
}

// mayHaveCheckpoints says whether there are some in the database.
func (l *Life) mayHaveCheckpoints(every int64) bool { return l.before >= every }
