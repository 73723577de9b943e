package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// load sends events continuously until it is stopped, and records the answers: events answered with 2xx must be processed,
// those answered with 503 or not at all may be.
type load struct {
	accepted, unavailable, unreachable atomic.Int64
	other                              atomic.Int64
	stopped                            chan struct{}
	senders                            sync.WaitGroup

	mu sync.Mutex
	// unanswered are the IDs of requests whose connection ended before an answer. The server isn't at fault if it never saw them:
	// it may close an idle connection at the moment at which a request is sent on it.
	unanswered []string
}

func startLoad(n *node, senders int) *load {
	l := &load{stopped: make(chan struct{})}
	for range senders {
		l.senders.Go(func() {
			for {
				select {
				case <-l.stopped:
					return
				default:
					l.sendOne(n)
				}
			}
		})
	}
	return l
}

// startPacedLoad sends one event after the other, with pauses: for tests of a change rather than a peak.
func startPacedLoad(n *node, pause time.Duration) *load {
	l := &load{stopped: make(chan struct{})}
	l.senders.Go(func() {
		ticker := time.NewTicker(pause)
		defer ticker.Stop()
		for {
			select {
			case <-l.stopped:
				return
			case <-ticker.C:
				l.sendOne(n)
			}
		}
	})
	return l
}

func (l *load) sendOne(n *node) {
	id := uniqueID("evt")
	body := customerUpdated(id, fmt.Sprintf("cus_load_%d", sequence.Add(1)%20), "Ada", time.Now())
	a, err := n.post("/webhooks/stripe", body, "Stripe-Signature", sign(body, secret, time.Now()), "X-Request-Id", id)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		l.unreachable.Add(1)
		time.Sleep(10 * time.Millisecond)
	case err != nil:
		l.mu.Lock()
		l.unanswered = append(l.unanswered, id)
		l.mu.Unlock()
	case a.status == http.StatusAccepted:
		l.accepted.Add(1)
	case a.status == http.StatusServiceUnavailable:
		l.unavailable.Add(1)
	default:
		l.other.Add(1)
	}
}

func (l *load) stop() {
	close(l.stopped)
	l.senders.Wait()
}

func (l *load) atLeast(n int64) error {
	if got := l.accepted.Load(); got < n {
		return fmt.Errorf("%d of %d events accepted", got, n)
	}
	return nil
}
