package ingress

import (
	"context"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/event"
	"holdfast/event/oversight"
)

const (
	// selfTestPath cannot be a provider's: their names begin with a letter.
	selfTestPath = "/webhooks/_selftest"
	// healthPath is for load balancers, which want a status and nothing else. They route by it, so that it fails as soon as the
	// server is about to stop, while it still accepts.
	healthPath = "/health"
)

// SelfTest is what the self-test looks at beside the server itself.
type SelfTest struct {
	// Stores are asked whether they answer, by name ("temporal", "database").
	Stores map[string]func(context.Context) error
	// Queues reads the state of the task queues.
	Queues func(context.Context) ([]oversight.QueueStats, error)
	// Inbox counts what waits in the inbox; nil where there is none.
	Inbox func(context.Context) (event.InboxDepth, error)
	// Failures counts the steps of events that have failed within the last minute, in all workers; nil where there is no database.
	Failures func(context.Context) (int64, error)
}

const (
	// outcomeSelfTest keeps a self-test out of logs and metrics, which are about webhooks, and outcomeDispatcher a client of a
	// dispatcher that publishes nothing.
	outcomeSelfTest   = "self_test"
	outcomeDispatcher = "dispatcher"
	// selfTestAge is how long a result is given again, so that asking often costs nothing.
	selfTestAge = time.Second
	// selfTestLimit bounds one look at a store or the queues.
	selfTestLimit = 2 * time.Second
)

// selfTestResult shows how the ingress is doing. It names no provider, and nothing in it is secret: this port is public.
type selfTestResult struct {
	OK     bool                   `json:"ok"`
	At     time.Time              `json:"at"`
	Stores map[string]storeResult `json:"stores"`
	// Readiness says whether the process is about to stop. It accepts webhooks until it has stopped.
	Readiness readinessResult `json:"readiness"`
	Dedupe    dedupeResult    `json:"dedupe"`
	// Queues is empty where Temporal did not tell.
	Queues []oversight.QueueStats `json:"queues"`
	// Inbox is missing where there is none, or where the database did not tell.
	Inbox      event.InboxDepth `json:"inbox,omitempty"`
	Inflight   int64            `json:"inflight"`
	Limits     limitsResult     `json:"limits"`
	LastMinute lastMinuteSum    `json:"last_minute"`
	Latency    latencyResult    `json:"latency_ms"`
	// WorkerFailures is missing where there is no database, or where it did not tell.
	WorkerFailures *int64 `json:"worker_failures,omitempty"`
}

type readinessResult struct {
	ShuttingDown bool `json:"shutting_down"`
}

type storeResult struct {
	Up        bool  `json:"up"`
	LatencyMS int64 `json:"latency_ms"`
}

// dedupeResult says what makes an event happen once: see Starter, and the tables idempotency_keys and events.
type dedupeResult struct {
	Layers          []string `json:"layers"`
	DuplicatesShare float64  `json:"duplicates_share"`
}

type limitsResult struct {
	BodyBytes       int   `json:"body_bytes"`
	Connections     int   `json:"connections"`
	ConnsPerIP      int   `json:"connections_per_ip"`
	HandlerBudgetMS int64 `json:"handler_budget_ms"`
	StartTimeoutMS  int64 `json:"start_timeout_ms"`
	AckBudgetMS     int64 `json:"ack_budget_ms"`
}

type latencyResult struct {
	Average float64 `json:"average"`
	P50     float64 `json:"p50"`
	P95     float64 `json:"p95"`
	P99     float64 `json:"p99"`
}

func (s lastMinuteSum) latencies() latencyResult {
	return latencyResult{Average: s.average(), P50: s.quantile(0.5), P95: s.quantile(0.95), P99: s.quantile(0.99)}
}

func (l latencyResult) figures() map[string]float64 {
	return map[string]float64{"average": l.Average, "p50": l.P50, "p95": l.P95, "p99": l.P99}
}

// selfTest keeps the last result.
type selfTest struct {
	mu   sync.Mutex
	last selfTestResult
	// until is how long it is given again, from the end of the look: one that takes long must not keep callers waiting in line.
	until time.Time
}

// testSelf answers GET /webhooks/_selftest, and GET /health in a word: 200 if a webhook would be accepted now, else 503. A load
// balancer needs the 503 while the server accepts for the last time, to look away before it stops.
func (s *Server) testSelf(c *fiber.Ctx) error {
	observed(c).outcome = outcomeSelfTest
	isHealth := c.Path() == healthPath
	if isHealth && s.draining.Load() {
		return c.Status(fiber.StatusServiceUnavailable).JSON(fiber.Map{"status": "stopping"})
	}
	result, health := s.selfTestResult(), "ok"
	if !result.OK {
		c.Status(fiber.StatusServiceUnavailable)
		health = "unavailable"
	}
	if isHealth {
		return c.JSON(fiber.Map{"status": health})
	}
	return c.JSON(result)
}

func (s *Server) isSelfTest(c *fiber.Ctx) bool {
	return s.SelfTest != nil && c.Method() == fiber.MethodGet && (c.Path() == selfTestPath || c.Path() == healthPath)
}

// selfTestResult lets callers that come at the same time share one look.
func (s *Server) selfTestResult() selfTestResult {
	s.tested.mu.Lock()
	defer s.tested.mu.Unlock()
	if now := s.now(); now.After(s.tested.until) {
		s.tested.last = s.lookAtSelf(now)
		s.tested.until = s.now().Add(selfTestAge)
	}
	return s.tested.last
}

func (s *Server) lookAtSelf(now time.Time) selfTestResult {
	sum := s.lastMinute.sum(now)
	r := selfTestResult{
		At:        now.UTC(),
		Stores:    map[string]storeResult{},
		Readiness: readinessResult{ShuttingDown: s.draining.Load()},
		Queues:    []oversight.QueueStats{},
		Inflight:  s.inflight.Load() - 1, // without the request that asks
		Limits: limitsResult{
			BodyBytes: s.BodyLimit, Connections: s.MaxConns, ConnsPerIP: s.MaxConnsPerIP,
			HandlerBudgetMS: s.Intake.Budget.Milliseconds(), StartTimeoutMS: s.Intake.StartTimeout.Milliseconds(),
			AckBudgetMS: s.Intake.AckBudget.Milliseconds(),
		},
		LastMinute: sum,
		Latency:    sum.latencies(),
		Dedupe:     dedupeResult{Layers: []string{"workflow_id", "idempotency_keys", "event_id"}},
	}
	if total := sum.Accepted + sum.Duplicate; total > 0 {
		r.Dedupe.DuplicatesShare = float64(sum.Duplicate) / float64(total)
	}
	s.askStores(&r)
	return r
}

// askStores asks all of them at the same time. A webhook is accepted as long as one of them answers.
func (s *Server) askStores(r *selfTestResult) {
	ctx, cancel := context.WithTimeout(context.Background(), selfTestLimit)
	defer cancel()
	var all sync.WaitGroup
	var mu sync.Mutex
	for name, probe := range s.SelfTest.Stores {
		all.Go(func() {
			begin := time.Now()
			err := probe(ctx)
			mu.Lock()
			defer mu.Unlock()
			r.Stores[name] = storeResult{Up: err == nil, LatencyMS: time.Since(begin).Milliseconds()}
		})
	}
	all.Go(func() {
		if queues, err := s.SelfTest.Queues(ctx); err == nil {
			r.Queues = queues
		}
	})
	if s.SelfTest.Inbox != nil {
		all.Go(func() {
			if depth, err := s.SelfTest.Inbox(ctx); err == nil {
				r.Inbox = depth
			}
		})
	}
	if s.SelfTest.Failures != nil {
		all.Go(func() {
			if n, err := s.SelfTest.Failures(ctx); err == nil {
				r.WorkerFailures = &n
			}
		})
	}
	all.Wait()
	for _, store := range r.Stores {
		r.OK = r.OK || store.Up
	}
}
