package dispatch

import (
	"time"

	"holdfast/delivery"
)

// Limits of the cache of recent events. It helps if an event goes to many destinations, which are leased in several batches.
const (
	// recentTTL is the max age: an attempt may send the event as it was that long ago.
	recentTTL = 2 * time.Second
	// recentBytes bounds all bodies, recentBody a single one.
	recentBytes = 4 << 20
	recentBody  = 64 << 10
)

// recent caches messages for recentTTL. It isn't safe for concurrent use.
type recent struct {
	messages map[string]delivery.Message
	bytes    int
	since    time.Time
}

// keep adds messages, and empties the cache when it is full.
func (r *recent) keep(messages map[string]delivery.Message) {
	for id, m := range messages {
		if len(m.Body) > recentBody {
			continue
		}
		if r.messages == nil || r.bytes+len(m.Body) > recentBytes {
			r.messages, r.bytes, r.since = map[string]delivery.Message{}, 0, time.Now()
		}
		r.messages[id] = m
		r.bytes += len(m.Body)
	}
}

func (r *recent) get(id string) (delivery.Message, bool) {
	if time.Since(r.since) > recentTTL {
		r.messages = nil
	}
	m, ok := r.messages[id]
	return m, ok
}
