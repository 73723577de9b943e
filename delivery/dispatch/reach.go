package dispatch

import (
	"net/url"
	"strings"
	"sync"
	"time"

	"holdfast/delivery"
)

// Limits for detecting that this process is offline.
const (
	// reachWindow is the time in which hosts must become unreachable.
	reachWindow = 30 * time.Second
	// reachMemory is how long after its last connection a host counts as reachable. Permanently deleted endpoints drop out
	// after it.
	reachMemory = time.Hour
	// minUnreached is the min number of unreachable hosts: two may be down by chance.
	minUnreached = 3
	// countInterval is the min pause between two counts without a change.
	countInterval = 100 * time.Millisecond
)

// reach detects whether hosts are down or this process is offline: it is offline if more than half of the hosts tried recently,
// which were reachable before, can't be reached. Destinations with one host are one sign, and a host that refuses a connection is
// up.
type reach struct {
	onChange func(offline bool, lasted time.Duration)

	mu        sync.Mutex
	contacts  map[string]*contact
	countedAt time.Time
	offline   bool
	since     time.Time
}

type contact struct{ tried, reached time.Time }

func (c contact) unreached() bool { return c.tried.After(c.reached) }

// newReach calls onChange for each change, in order and one at a time: it must not block. lasted is the duration of the previous
// state.
func newReach(onChange func(offline bool, lasted time.Duration)) *reach {
	return &reach{onChange: onChange, contacts: map[string]*contact{}, since: time.Now()}
}

// record records whether an attempt has reached a host, and returns whether this process is offline.
func (r *reach) record(host string, how delivery.Reach, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if how == delivery.ReachUnknown {
		return r.offline
	}
	connected := how == delivery.Reached
	c := r.contacts[host]
	if c == nil {
		c = &contact{}
		r.contacts[host] = c
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
	for host, c := range r.contacts {
		switch {
		case now.Sub(c.tried) > reachMemory:
			delete(r.contacts, host)
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

// hostOf returns the host of an endpoint without its port, the Temporal of a task queue, or a broker.
func hostOf(d delivery.Destination) string {
	if d.Temporal != nil {
		return "temporal/" + d.Temporal.Profile
	}
	if c := d.Broker(); c != nil {
		return d.Kind() + "/" + c.URL
	}
	if d.HTTP == nil {
		return ""
	}
	u, err := url.Parse(d.HTTP.URL)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}
