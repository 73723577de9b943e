package entities

import (
	"math"
	"slices"
	"time"

	"holdfast/event"
	"holdfast/event/feed"
	"holdfast/event/fold"
)

// Life is an entity with the counts of the changes that it is folded from. A new change is one of these:
//
//	a mention               inserts the entity if it is new, and otherwise changes nothing
//	up to the base          is linked, without an effect: retention has collapsed this part of the history
//	before the last reset   is linked, without an effect: a later snapshot or delete replaces it
//	after the last change   is applied to the state
//	between the two         is out of order: the entity is folded from the last checkpoint before it, or from the reset
//
// Removing a change also counts as out of order. A checkpoint is the state at some change since the reset. An out-of-order
// change removes the checkpoints after it, and the fold recreates them, so that each always matches the entity's state at that
// position.
type Life struct {
	event.Entity

	// isKnown means that the row has counts, which releases before migration 0026 didn't write. The fields below count the
	// changes from the last reset on. They leave out changes that the reset's own event made before the reset, since retention
	// removes those.
	isKnown bool
	links   int64
	reset   event.Order // zero: there is none
	base    event.Order // position up to which changes are collapsed; zero if none are. The reset, if any, is after it
	lost    event.Order // changes before this position were removed and aren't in a base; zero if none. See IsIncomplete
	purged  purged
	latest  time.Time // latest occurrence time of the counted changes; not necessarily of the last one in order

	at      event.Order // position of the last counted change
	covered int64       // links when the last checkpoint was due
	before  int64       // links in the row

	made []checkpoint
	// above invalidates the entity's checkpoints that cover more links than this.
	above  int64
	isGone bool

	// revision counts the changes of the row. row is the stored version; nil if there was none.
	revision int64
	row      *Life
}

// checkpoint is the state of an entity after a number of links.
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

// ignores reports whether adding or removing a change at o has no effect.
func (l *Life) ignores(o event.Order) bool {
	return l.Covers(o) || l.isKnown && l.reset.EventID != "" && o.Compare(l.reset) < 0
}

// IsCollapsed reports whether the oldest changes are collapsed.
func (l *Life) IsCollapsed() bool { return l.base.EventID != "" }

// Covers reports whether a position is in the collapsed part.
func (l *Life) Covers(o event.Order) bool { return l.IsCollapsed() && o.Compare(l.base) <= 0 }

// appends reports whether a position is after all changes.
func (l *Life) appends(o event.Order) bool { return l.Last.EventID == "" || o.Compare(l.Last) >= 0 }

// grow applies changes in fold order, and makes a checkpoint for every interval of links.
func (l *Life) grow(changes []event.OrderedChange, every int64) error {
	next := 0
	for i, c := range changes {
		if c.Change.Mentions() {
			continue
		}
		if l.isDue(every) && c.Order.Compare(l.at) != 0 { // a checkpoint never splits an event
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

// end makes the last checkpoint if it is due.
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

// keep makes a checkpoint, and drops those that are now too close to each other. It skips one that would be too large: an
// out-of-order change can make an intermediate state exceed the limit.
func (l *Life) keep(every int64) {
	l.covered = l.links
	if !fits(l.Entity) {
		return
	}
	l.made = slices.DeleteFunc(l.made, func(c checkpoint) bool { return !isKept(c.links/every, l.links/every) })
	l.made = append(l.made, checkpoint{Entity: l.Entity, links: l.links, latest: l.latest})
}

// isKept reports whether the nth checkpoint still exists when the newest is made. It is kept until 2p newer ones exist, where p
// is the greatest power of two that divides n. So for every distance d, a checkpoint exists between d and 3d before the newest,
// and each new checkpoint removes at most one. The statement dropCheckpoints implements the same rule.
func isKept(n, newest int64) bool { return n+2*(n&-n) > newest }

// isAs reports whether l equals the stored row. It compares the state last, since that is the most expensive part.
func (l *Life) isAs(row *Life) bool {
	return l.Deleted == row.Deleted && l.Last.Compare(row.Last) == 0 && l.reset.Compare(row.reset) == 0 &&
		l.isKnown == row.isKnown && l.links == row.links && l.latest.Equal(row.latest) &&
		l.lost.Compare(row.lost) == 0 && l.purged.isAs(row.purged) && SameJSON(l.State, row.State)
}

// Removed returns the change event for a row that is removed because its links moved to another entity.
func (l *Life) Removed() feed.Change {
	l.revision++
	return l.changeEvent(feed.Removed)
}

func (l *Life) changeEvent(action feed.Action) feed.Change {
	if l.Deleted && action != feed.Removed {
		action = feed.Deleted
	}
	return feed.Change{
		Subject: feed.Entity, Action: action, Provider: l.Provider, Kind: l.Kind, ID: l.ExternalID, Revision: l.revision,
		EventID: l.Last.EventID,
	}
}

// mayHaveCheckpoints reports whether the database may have checkpoints of the entity.
func (l *Life) mayHaveCheckpoints(every int64) bool { return l.before >= every }
