package operator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"golang.org/x/sync/singleflight"

	"holdfast/event"
)

// Check is one thing that the process needs in order to do its work.
type Check struct {
	Name string
	// Probe returns nil if the thing is there. The text of its error is shown, so it holds no secret.
	Probe func(ctx context.Context) error
}

// phase is where the life of a process stands.
type phase string

const (
	starting phase = "starting"
	started  phase = "started"
	draining phase = "draining"
)

// readiness is the answer of GET /readyz.
type readiness struct {
	Ready  bool     `json:"ready"`
	Checks []result `json:"checks"`
	// Inbox is what waits in it; missing where the process has none, or where it could not be counted.
	Inbox event.InboxDepth `json:"inbox,omitempty"`
}

type result struct {
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

func (s *Server) readyz(c *fiber.Ctx) error {
	answer := s.readiness()
	if !answer.Ready {
		c.Status(fiber.StatusServiceUnavailable)
	}
	return c.JSON(answer)
}

func (s *Server) readiness() readiness {
	var answer readiness
	var all sync.WaitGroup
	all.Go(func() { answer.Checks = s.probes.run() })
	all.Go(func() { answer.Inbox = s.countInbox() })
	all.Wait()
	good := 0
	for _, r := range answer.Checks {
		if r.OK {
			good++
		}
	}
	answer.Ready = good == len(answer.Checks) || s.eitherIsEnough && good > 0
	if now := s.phase.Load().(phase); now != started {
		answer.Ready = false
		answer.Checks = append(answer.Checks, result{Name: "process", Error: string(now)})
	}
	return answer
}

// countInbox gives nil where there is no inbox, or no count of it within the time of a check.
func (s *Server) countInbox() event.InboxDepth {
	if s.inbox == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.probes.timeout)
	defer cancel()
	depth, err := s.inbox(ctx)
	if err != nil {
		return nil
	}
	return depth
}

// probes runs the checks. A check that never returns costs one goroutine, however often it is asked for: calls that come
// while it is running wait, for their own time, for the same run.
type probes struct {
	checks  []Check
	timeout time.Duration
	running singleflight.Group
}

// run asks all checks at the same time, and gives their results in their order.
func (p *probes) run() []result {
	results := make([]result, len(p.checks))
	var all sync.WaitGroup
	for i, check := range p.checks {
		all.Go(func() { results[i] = p.ask(check) })
	}
	all.Wait()
	return results
}

func (p *probes) ask(check Check) result {
	ctx, cancel := context.WithTimeout(context.Background(), p.timeout)
	defer cancel()
	answer := p.running.DoChan(check.Name, func() (any, error) { return nil, p.probe(check) })
	select {
	case got := <-answer:
		return newResult(check.Name, got.Err)
	case <-ctx.Done():
		return newResult(check.Name, fmt.Errorf("no answer within %s", p.timeout))
	}
}

// probe has a deadline of its own, because callers share it and the first one may be gone.
func (p *probes) probe(check Check) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the check panicked")
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), p.timeout)
	defer cancel()
	return check.Probe(ctx)
}

func newResult(name string, err error) result {
	if err != nil {
		return result{Name: name, Error: err.Error()}
	}
	return result{Name: name, OK: true}
}
