package dispatch

import (
	"time"

	"holdfast/delivery"
)

// What is kept of events that were read just now. One that goes to many destinations is leased piece by piece.
const (
	// recentFor is how long, at most: an attempt is of the event as it was that long ago, as one is that waits for its answer.
	recentFor = 2 * time.Second
	// recentBytes bounds the bodies, and recentBody one of them.
	recentBytes = 4 << 20
	recentBody  = 64 << 10
)

// recent are messages that were read within recentFor. One goroutine uses it.
type recent struct {
	messages map[string]delivery.Message
	bytes    int
	since    time.Time
}

// keep is called with what was read, and forgets everything now and then.
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
	if time.Since(r.since) > recentFor {
		r.messages = nil
	}
	m, ok := r.messages[id]
	return m, ok
}
