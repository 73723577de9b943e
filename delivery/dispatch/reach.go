package dispatch

import (
	"sync"
	"time"
)

// Limits for detecting that this process is offline.
const (
	// reachWindow is the time in which destinations must stop connecting.
	reachWindow = 30 * time.Second
	// reachMemory is how long after its last connection a destination counts as reachable. Permanently deleted endpoints drop out
	// after it.
	reachMemory = time.Hour
	// minUnreached is the min number of unreachable destinations: two may be down by chance.
	minUnreached = 3
	// countInterval is the min pause between two counts without a change.
	countInterval = 100 * time.Millisecond
)

// reach detects whether destinations are unreachable or this process is offline: it is offline if more than half of the recently
// tried destinations, which were reachable before, no longer connect.
type reach struct {
	onChange func(offline bool, lasted time.Duration)

	mu        sync.Mutex
	contacts  map[int64]*contact
	countedAt time.Time
	offline   bool
	since     time.Time
}

type contact struct{ tried, reached time.Time }

func (c contact) unreached() bool { return c.tried.After(c.reached) }

// newReach calls onChange for each change, in order and one at a time: it must not block. lasted is the duration of the previous
// state.
func newReach(onChange func(offline bool, lasted time.Duration)) *reach {
	return &reach{onChange: onChange, contacts: map[int64]*contact{}, since: time.Now()}
}

// record records the result of an attempt and returns whether this process is offline.
func (r *reach) record(destination int64, connected bool, now time.Time) bool {
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
	if connected && !r.offline || before == c.unreached() && now.Sub(r.countedAt) < countInterval {
		return r.offline
	}
	was := r.offline
	r.count(now)
	if r.offline != was {
		r.onChange(r.offline, now.Sub(r.since))
		r.since = now
	}
	return r.offline
}

func (r *reach) count(now time.Time) {
	r.countedAt = now
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
	r.offline = unreached >= minUnreached && 2*unreached > tried
}
