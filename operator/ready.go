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

// Check is a dependency that the process needs.
type Check struct {
	Name string
	// Probe returns nil if the dependency is available. Its error is shown, so it must not contain a secret.
	Probe func(ctx context.Context) error
}

// phase is a phase of the process's life.
type phase string

const (
	starting phase = "starting"
	started  phase = "started"
	draining phase = "draining"
)

// readiness is the response of GET /readyz.
type readiness struct {
	Ready  bool          `json:"ready"`
	Checks []checkResult `json:"checks"`
	// Inbox is the inbox's depth; missing if the process has no inbox or couldn't count it.
	Inbox event.InboxDepth `json:"inbox,omitempty"`
}

type checkResult struct {
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
		answer.Checks = append(answer.Checks, checkResult{Name: "process", Error: string(now)})
	}
	return answer
}

// countInbox returns nil if there is no inbox, or no count within the time of a check.
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

// probes runs the checks. A check that never returns costs one goroutine, however often it is requested: calls during a run wait
// for that run, each with its own timeout.
type probes struct {
	checks  []Check
	timeout time.Duration
	running singleflight.Group
}

// run runs all checks concurrently and returns their results in order.
func (p *probes) run() []checkResult {
	results := make([]checkResult, len(p.checks))
	var all sync.WaitGroup
	for i, check := range p.checks {
		all.Go(func() { results[i] = p.ask(check) })
	}
	all.Wait()
	return results
}

func (p *probes) ask(check Check) checkResult {
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

// probe has its own deadline, because callers share it and the first one may have disconnected.
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

func newResult(name string, err error) checkResult {
	if err != nil {
		return checkResult{Name: name, Error: err.Error()}
	}
	return checkResult{Name: name, OK: true}
}
