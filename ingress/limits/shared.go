package limits

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"holdfast/event"
)

// RateStore counts requests for all processes of the installation.
type RateStore interface {
	TakeRates(ctx context.Context, claims []event.RateClaim) ([]event.RateGrant, error)
}

const (
	// rateTimeout is the time limit of a statement. Requests that wait for a slower one pass, and their process counts locally.
	rateTimeout = 25 * time.Millisecond
	// ratePause is how long a process counts locally after that. It doubles, up to maxRatePause, until a statement is in time.
	ratePause    = time.Second
	maxRatePause = 30 * time.Second
	// ratePace is the shortest interval between two statements. Requests that arrive meanwhile share the next one.
	ratePace = 10 * time.Millisecond
	// statementTimeout cancels a statement. It is longer than the database's limits, because a cancellation costs the pool a
	// connection.
	statementTimeout = 20 * time.Second
)

var errSlow = errors.New("the database took longer than " + rateTimeout.String())

// sharedRates asks the store for permits. One statement at a time is in flight, for all requests since the last one, so the
// store's cost doesn't grow with the number of requests, and a slow database uses one connection.
type sharedRates struct {
	store RateStore

	mu         sync.Mutex
	waiting    map[string]*claim
	running    bool
	slow       bool          // the statement in flight is over its limit
	pause      time.Duration // the last one; 0 while processes share their rates
	localUntil time.Time     // the store isn't asked before this time
}

// claim collects the requests that wait for one bucket.
type claim struct {
	event.RateClaim
	unused int // granted earlier and returned
	grant  event.RateGrant
	done   chan struct{}
}

// pending is one request of a claim.
type pending struct {
	*claim
	place int
}

func newSharedRates(store RateStore) *sharedRates {
	return &sharedRates{store: store, waiting: map[string]*claim{}}
}

// request begins to take one permit from a bucket; nil while the process counts locally.
func (s *sharedRates) request(of event.RateClaim) *pending {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.claim(of)
	if c == nil {
		return nil
	}
	c.Want++
	return &pending{c, c.Want}
}

// refund returns a granted request to its bucket. While the process counts locally, it stays counted.
func (s *sharedRates) refund(of event.RateClaim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.claim(of); c != nil {
		c.unused++
	}
}

// claim returns the bucket's claim in the next statement; nil while the process counts locally.
func (s *sharedRates) claim(of event.RateClaim) *claim {
	if s.slow || time.Now().Before(s.localUntil) {
		return nil
	}
	c := s.waiting[of.Name]
	if c == nil {
		c = &claim{RateClaim: of, done: make(chan struct{})}
		s.waiting[of.Name] = c
	}
	if !s.running {
		s.running = true
		go s.run()
	}
	return c
}

// wait returns how long it takes until the bucket has capacity; 0 if the request may pass.
func (p *pending) wait() time.Duration {
	<-p.done
	if p.place <= p.grant.Granted+p.unused {
		return 0
	}
	return max(p.grant.Wait, time.Millisecond)
}

// run issues statements while requests wait.
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
		s.query(claims)
		<-next
	}
}

// query asks for all claims in one statement. A slow statement's requests stay counted.
func (s *sharedRates) query(claims map[string]*claim) {
	all, asked := make([]*claim, 0, len(claims)), make([]event.RateClaim, 0, len(claims))
	for _, c := range claims {
		one := c.RateClaim
		one.Want -= c.unused
		all, asked = append(all, c), append(asked, one)
	}
	var grants []event.RateGrant
	answered := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
		defer cancel()
		var err error
		grants, err = s.store.TakeRates(ctx, asked)
		answered <- err
	}()
	select {
	case err := <-answered:
		s.settle(all, grants, err)
	case <-time.After(rateTimeout):
		s.settle(all, nil, errSlow)
		<-answered //nolint:errcheck // its requests have passed
		s.resume()
	}
}

// settle distributes the grants. After a failure every request passes, because the process has counted it, too. Only changes
// are logged.
func (s *sharedRates) settle(claims []*claim, grants []event.RateGrant, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		for i, c := range claims {
			c.grant = grants[i]
			close(c.done)
		}
		if s.pause > 0 {
			s.pause = 0
			slog.Info("rates.shared")
		}
		return
	}
	for _, c := range slices.AppendSeq(claims, maps.Values(s.waiting)) {
		c.grant.Granted = c.Want
		close(c.done)
	}
	clear(s.waiting)
	if s.pause == 0 {
		slog.Warn("rates.local", "error", err.Error())
	}
	s.slow, s.pause = errors.Is(err, errSlow), min(max(2*s.pause, ratePause), maxRatePause)
	s.localUntil = time.Now().Add(s.pause)
}

// resume begins the pause when a slow statement has ended.
func (s *sharedRates) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slow, s.localUntil = false, time.Now().Add(s.pause)
}
