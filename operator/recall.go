package operator

import (
	"sync"
	"time"

	"holdfast/event/oversight"
)

const (
	// recallFor is how long a recently seen session is accepted while the store doesn't answer.
	recallFor = 15 * time.Minute
	// maxRecalled bounds them; above it, no new session is remembered until others expire.
	maxRecalled = 1000
)

// recall remembers which sessions were valid recently.
type recall struct {
	mu   sync.Mutex
	seen map[string]recalled
}

type recalled struct {
	oversight.Session

	at time.Time
}

func (r *recall) keep(s oversight.Session, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[string]recalled{}
	}
	if _, known := r.seen[string(s.ID)]; !known && len(r.seen) >= maxRecalled {
		for id, old := range r.seen {
			if now.Sub(old.at) >= recallFor {
				delete(r.seen, id)
			}
		}
		if len(r.seen) >= maxRecalled {
			return
		}
	}
	r.seen[string(s.ID)] = recalled{s, now}
}

func (r *recall) of(id []byte, now time.Time) (s oversight.Session, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one, ok := r.seen[string(id)]
	return one.Session, ok && now.Sub(one.at) < recallFor
}

func (r *recall) forget(id []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.seen, string(id))
}
