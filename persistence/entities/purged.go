package entities

import (
	"strconv"

	"holdfast/event"
)

const (
	// IsIncomplete says of a row of entities what Life.isIncomplete says.
	IsIncomplete = `(lost_id IS NOT NULL AND links IS NOT NULL AND (reset_id IS NULL
        OR (coalesce(reset_version::numeric, '-Infinity'), reset_at, reset_id)
         < (coalesce(lost_version::numeric, '-Infinity'), lost_at, lost_id)))`

	// SumOfEvents sums the column event_id of rows as purged.sum does; null of none.
	SumOfEvents = `bit_xor(DISTINCT ('x' || right(event_id::text, 12))::bit(48)::bigint)`
)

// purged is what is known of the changes that a purge removed. The count and the sum identify a set of events in a room that
// doesn't grow with it, so that a history from the archive can be compared with what was removed.
type purged struct {
	// events counts those of which changes were removed; nil: not known, since a release removed them that didn't count.
	events   *int64
	sum      int64 // the exclusive or of tailOf their IDs
	mentions bool  // some mentions were removed
}

// sumOf counts and sums different events.
func sumOf(ids map[string]bool) purged {
	p := purged{events: new(int64(len(ids)))}
	for id := range ids {
		p.sum ^= tailOf(id)
	}
	return p
}

// tailOf is the last 48 bits of an ID, which are random.
func tailOf(id string) int64 {
	const digits = 12
	n, err := strconv.ParseInt(id[max(0, len(id)-digits):], 16, 64)
	if err != nil {
		return 0 // PostgreSQL holds no such ID
	}
	return n
}

// and is what was removed of two entities that are merged.
func (p purged) and(other purged) purged {
	both := purged{sum: p.sum ^ other.sum, mentions: p.mentions || other.mentions}
	if p.events != nil && other.events != nil {
		both.events = new(*p.events + *other.events)
	}
	return both
}

func (p purged) isAs(other purged) bool {
	return p.isOf(other) && p.mentions == other.mentions
}

// isOf says whether the events are the same, as far as known.
func (p purged) isOf(other purged) bool {
	if p.events == nil || other.events == nil {
		return p.events == other.events
	}
	return *p.events == *other.events && p.sum == other.sum
}

// isIncomplete says whether the state lacks what events did whose changes are gone, or still has what an expunged event did. A
// snapshot or a delete after all of that makes the entity complete again.
func (l *Life) isIncomplete() bool {
	return l.lost.EventID != "" && l.isKnown && (l.reset.EventID == "" || l.reset.Compare(l.lost) < 0)
}

// hasLost says whether more is lost, or was removed, than its row says.
func (l *Life) hasLost() bool { return l.lost.Compare(l.row.lost) != 0 || !l.purged.isAs(l.row.purged) }

// lose notes that what comes before an order is lost.
func (l *Life) lose(before event.Order) {
	if l.lost.EventID == "" || l.lost.Compare(before) < 0 {
		l.lost = before
	}
}

// absorb takes over what was removed of an entity that is merged into this one.
func (l *Life) absorb(other *Life) {
	if other.lost.EventID != "" {
		l.lose(other.lost)
	}
	l.purged = l.purged.and(other.purged)
}

// mayHaveLost notes what may be lost with changes of a purged event that go. What was removed before such a change isn't known
// of entities that are older than the count.
func (l *Life) mayHaveLost(gone []event.OrderedChange) {
	if l.purged.events != nil {
		return
	}
	for _, c := range gone {
		if c.Change.Resets() && !l.Covers(c.Order) {
			l.lose(c.Order)
		}
	}
}

// stays says whether an entity stays that nothing is left of: purged events have touched it, too.
func (l *Life) stays() bool {
	return l.lost.EventID != "" || l.purged.mentions || l.purged.events != nil && *l.purged.events > 0
}
