package entities

import (
	"strconv"

	"holdfast/event"
)

const (
	// IsIncomplete is Life.isIncomplete as an SQL condition.
	IsIncomplete = `(lost_id IS NOT NULL AND links IS NOT NULL AND (reset_id IS NULL
        OR (coalesce(reset_version::numeric, '-Infinity'), reset_at, reset_id)
         < (coalesce(lost_version::numeric, '-Infinity'), lost_at, lost_id)))`

	// SumOfEvents computes purged.sum for rows with an event_id; null if there are none.
	SumOfEvents = `bit_xor(DISTINCT ('x' || right(event_id::text, 12))::bit(48)::bigint)`
)

// purged identifies the changes that a purge removed. The count and the sum identify a set of events in constant space, so that a
// history from the archive can be compared with what was removed.
type purged struct {
	// events counts the events whose changes were removed; nil means unknown, because a release without counts removed them.
	events   *int64
	sum      int64 // XOR of tailOf of their IDs
	mentions bool  // some mentions were removed
}

// sumOf counts and sums distinct events.
func sumOf(ids map[string]bool) purged {
	p := purged{events: new(int64(len(ids)))}
	for id := range ids {
		p.sum ^= tailOf(id)
	}
	return p
}

// tailOf returns the last 48 bits of an ID, which are random.
func tailOf(id string) int64 {
	const digits = 12
	n, err := strconv.ParseInt(id[max(0, len(id)-digits):], 16, 64)
	if err != nil {
		return 0 // PostgreSQL returns valid IDs only
	}
	return n
}

// and combines what was removed from two merged entities.
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

// isOf reports whether the events are the same, as far as known.
func (p purged) isOf(other purged) bool {
	if p.events == nil || other.events == nil {
		return p.events == other.events
	}
	return *p.events == *other.events && p.sum == other.sum
}

// isIncomplete reports whether the state lacks events whose changes were removed, or still contains an expunged event. A later
// snapshot or delete makes the entity complete again.
func (l *Life) isIncomplete() bool {
	return l.lost.EventID != "" && l.isKnown && (l.reset.EventID == "" || l.reset.Compare(l.lost) < 0)
}

// hasLost reports whether lost or purged differ from the stored row.
func (l *Life) hasLost() bool { return l.lost.Compare(l.row.lost) != 0 || !l.purged.isAs(l.row.purged) }

// lose records that changes before an order are lost.
func (l *Life) lose(before event.Order) {
	if l.lost.EventID == "" || l.lost.Compare(before) < 0 {
		l.lost = before
	}
}

// absorb adds what was removed from an entity that is merged into this one.
func (l *Life) absorb(other *Life) {
	if other.lost.EventID != "" {
		l.lose(other.lost)
	}
	l.purged = l.purged.and(other.purged)
}

// mayHaveLost records what may be lost when the changes of a purged event are removed. It matters only for entities without a
// count of purged events: for those, it isn't known what was removed before such a change.
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

// stays reports whether an entity without links remains, because purged events also touched it.
func (l *Life) stays() bool {
	return l.lost.EventID != "" || l.purged.mentions || l.purged.events != nil && *l.purged.events > 0
}
