package ingress

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"holdfast/event"
)

// RateStore counts requests for all processes of the installation.
type RateStore interface {
	TakeRates(ctx context.Context, claims []event.RateClaim) ([]event.RateGrant, error)
}

const (
	// rateLimit is how long a request waits for the shared count at most. Then its process counts alone.
	rateLimit = 100 * time.Millisecond
	// ratePause is how long a process counts alone after that.
	ratePause = time.Second
	// ratePace is the shortest time between two statements. What comes meanwhile shares the next one.
	ratePace = 10 * time.Millisecond
)

// sharedRates asks the store for requests. One statement at a time is under way, for all that has come since the last one, so the
// cost for the store doesn't grow with the number of requests.
type sharedRates struct {
	store RateStore

	mu      sync.Mutex
	waiting map[string]*claim
	running bool
	alone   time.Time // the store is not asked before
}

// claim is of all requests that wait for the same bucket.
type claim struct {
	event.RateClaim
	grant event.RateGrant
	done  chan struct{}
}

// pending is one request of a claim.
type pending struct {
	*claim
	place int
}

func newSharedRates(store RateStore) *sharedRates {
	return &sharedRates{store: store, waiting: map[string]*claim{}}
}

// ask begins to take one request from a bucket; nil while the process counts alone.
func (s *sharedRates) ask(of event.RateClaim) *pending {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Now().Before(s.alone) {
		return nil
	}
	c := s.waiting[of.Name]
	if c == nil {
		c = &claim{RateClaim: of, done: make(chan struct{})}
		s.waiting[of.Name] = c
	}
	c.Want++
	if !s.running {
		s.running = true
		go s.run()
	}
	return &pending{c, c.Want}
}

// wait is how long it takes until the bucket has room; 0 if the request may pass.
func (p *pending) wait() time.Duration {
	<-p.done
	if p.place <= p.grant.Granted {
		return 0
	}
	return max(p.grant.Wait, time.Millisecond)
}

// run asks as long as requests wait.
func (s *sharedRates) run() {
	for {
		s.mu.Lock()
		claims := s.waiting
		s.waiting, s.running = map[string]*claim{}, len(claims) > 0
		s.mu.Unlock()
		if len(claims) == 0 {
			return
		}
		next := time.After(ratePace)
		s.take(claims)
		<-next
	}
}

// take lets everything pass where the store doesn't answer: the process has counted it, too.
func (s *sharedRates) take(claims map[string]*claim) {
	all, asked := make([]*claim, 0, len(claims)), make([]event.RateClaim, 0, len(claims))
	for _, c := range claims {
		all, asked = append(all, c), append(asked, c.RateClaim)
	}
	ctx, cancel := context.WithTimeout(context.Background(), rateLimit)
	defer cancel()
	grants, err := s.store.TakeRates(ctx, asked)
	s.settle(err)
	for i, c := range all {
		c.grant.Granted = c.Want
		if err == nil {
			c.grant = grants[i]
		}
		close(c.done)
	}
}

// settle notes whether the store has answered. Only a change is logged.
func (s *sharedRates) settle(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wasAlone := !s.alone.IsZero()
	switch {
	case err != nil:
		s.alone = time.Now().Add(ratePause)
		if !wasAlone {
			slog.Warn("rates.alone", "error", err.Error())
		}
	case wasAlone:
		s.alone = time.Time{}
		slog.Info("rates.shared")
	}
}
