package dispatch

import (
	"sync"
	"time"
)

// How it is told that we are cut off.
const (
	// reachWindow is the time in which destinations have to stop connecting.
	reachWindow = 30 * time.Second
	// reachMemory is how long after its last connection a destination counts as one that can be reached. So those that are gone
	// for good stop to speak for others.
	reachMemory = time.Hour
	// leastUnreached is of how many it takes: two may be down by chance.
	leastUnreached = 3
	// reachEvery is the least pause between two counts, where nothing has changed.
	reachEvery = 100 * time.Millisecond
)

// reach judges whether it is the destinations that cannot be reached, or we who are cut off: if more than half of those that were
// tried just now, and could be reached before, do not connect any more, it is us.
type reach struct {
	turned func(cutOff bool, lasted time.Duration)

	mu       sync.Mutex
	contacts map[int64]*contact
	counted  time.Time
	cutOff   bool
	since    time.Time
}

type contact struct{ tried, reached time.Time }

func (c contact) unreached() bool { return c.tried.After(c.reached) }

// newReach calls turned for each change, in their order, one at a time: it must not wait. lasted is how long it was the other
// way.
func newReach(turned func(cutOff bool, lasted time.Duration)) *reach {
	return &reach{turned: turned, contacts: map[int64]*contact{}, since: time.Now()}
}

// note says how an attempt has ended, and gets whether we are cut off.
func (r *reach) note(destination int64, connected bool, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.contacts[destination]
	if c == nil {
		c = &contact{}
		r.contacts[destination] = c
	}
	before := c.unreached()
	c.tried = now
	if connected {
		c.reached = now
	}
	if connected && !r.cutOff || before == c.unreached() && now.Sub(r.counted) < reachEvery {
		return r.cutOff
	}
	was := r.cutOff
	r.count(now)
	if r.cutOff != was {
		r.turned(r.cutOff, now.Sub(r.since))
		r.since = now
	}
	return r.cutOff
}

func (r *reach) count(now time.Time) {
	r.counted = now
	tried, unreached := 0, 0
	for id, c := range r.contacts {
		switch {
		case now.Sub(c.tried) > reachMemory:
			delete(r.contacts, id)
		case now.Sub(c.tried) > reachWindow || now.Sub(c.reached) > reachMemory:
		default:
			tried++
			if c.unreached() {
				unreached++
			}
		}
	}
	r.cutOff = unreached >= leastUnreached && 2*unreached > tried
}
