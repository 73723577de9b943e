package guard

import (
	"sync"
	"time"

	"holdfast/event/oversight"
)

const (
	// sessionCacheTime is how long a recently seen session is accepted while the store doesn't answer.
	sessionCacheTime = 15 * time.Minute
	// maxCachedSessions bounds them; above it, no new session is remembered until others expire.
	maxCachedSessions = 1000
)

// sessionCache remembers which sessions were valid recently.
type sessionCache struct {
	mu   sync.Mutex
	seen map[string]cachedSession
}

type cachedSession struct {
	oversight.Session

	at time.Time
}

func (r *sessionCache) keep(s oversight.Session, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[string]cachedSession{}
	}
	if _, known := r.seen[string(s.ID)]; !known && len(r.seen) >= maxCachedSessions {
		for id, old := range r.seen {
			if now.Sub(old.at) >= sessionCacheTime {
				delete(r.seen, id)
			}
		}
		if len(r.seen) >= maxCachedSessions {
			return
		}
	}
	r.seen[string(s.ID)] = cachedSession{s, now}
}

func (r *sessionCache) of(id []byte, now time.Time) (s oversight.Session, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one, ok := r.seen[string(id)]
	return one.Session, ok && now.Sub(one.at) < sessionCacheTime
}

func (r *sessionCache) forget(id []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.seen, string(id))
}
