package ingress

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/providers/receiving"
)

const (
	// selfTestPath can't collide with a provider: provider names begin with a letter.
	selfTestPath = "/webhooks/_selftest"
	// healthPath is for load balancers, which need only a status. It fails as soon as the server is about to stop, while it still
	// accepts.
	healthPath = "/health"
)

// SelfTest configures what the self-test checks in addition to the server itself.
type SelfTest struct {
	// Stores report by name ("temporal", "database") whether each can commit. NeedsBoth: an event is committed to all of them.
	Stores    map[string]func(context.Context) error
	NeedsBoth bool
	// Queues reads the state of the task queues.
	Queues func(context.Context) ([]oversight.QueueStats, error)
	// Inbox counts the events in the inbox; nil if there is none.
	Inbox func(context.Context) (event.InboxDepth, error)
	// Failures counts the event steps that failed within the last minute, in all workers; nil without a database.
	Failures func(context.Context) (int64, error)
}

const (
	// outcomeSelfTest keeps self-tests out of logs and metrics, which are about webhooks. outcomeDispatcher does so for a
	// dispatcher's client that publishes nothing.
	outcomeSelfTest   = "self_test"
	outcomeDispatcher = "dispatcher"
	// selfTestAge is how long a result is cached.
	selfTestAge = time.Second
	// selfTestTimeout bounds one check of a store or the queues.
	selfTestTimeout = 2 * time.Second
)

// selfTestResult shows the state of the ingress. This port is public: the result names no provider and has no secrets.
type selfTestResult struct {
	OK     bool                   `json:"ok"`
	At     time.Time              `json:"at"`
	Stores map[string]storeResult `json:"stores"`
	// Readiness shows whether the process is about to stop. It accepts webhooks until it stops.
	Readiness readinessResult `json:"readiness"`
	Dedupe    dedupeResult    `json:"dedupe"`
	// Queues is empty if Temporal didn't answer.
	Queues []oversight.QueueStats `json:"queues"`
	// Inbox is missing if there is none, or if the database didn't answer.
	Inbox      event.InboxDepth `json:"inbox,omitempty"`
	Inflight   int64            `json:"inflight"`
	Limits     limitsResult     `json:"limits"`
	LastMinute lastMinuteSum    `json:"last_minute"`
	Latency    latencyResult    `json:"latency_ms"`
	// WorkerFailures is missing if there is no database, or if it didn't answer.
	WorkerFailures *int64 `json:"worker_failures,omitempty"`
}

type readinessResult struct {
	ShuttingDown bool `json:"shutting_down"`
}

type storeResult struct {
	Up        bool  `json:"up"`
	LatencyMS int64 `json:"latency_ms"`
}

// dedupeResult shows how events are deduplicated: see Starter, and the tables idempotency_keys and events.
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

// selfTest caches the last result.
type selfTest struct {
	mu   sync.Mutex
	last selfTestResult
	// until is when the cache expires. It counts from the end of the check, so that a slow check doesn't queue callers.
	until time.Time
}

// serveSelfTest answers GET /webhooks/_selftest, and GET /health in one word: 200 if a webhook would be accepted now, else 503. A
// load balancer needs the 503 before the server stops accepting, to remove it in time.
func (s *Server) serveSelfTest(c *fiber.Ctx) error {
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

// selfTestResult returns the cached result. Concurrent callers share one check.
func (s *Server) selfTestResult() selfTestResult {
	s.tested.mu.Lock()
	defer s.tested.mu.Unlock()
	if now := s.now(); now.After(s.tested.until) {
		s.tested.last = s.runSelfTest(now)
		s.tested.until = s.now().Add(selfTestAge)
	}
	return s.tested.last
}

func (s *Server) runSelfTest(now time.Time) selfTestResult {
	sum := s.lastMinute.sum(now)
	r := selfTestResult{
		At:        now.UTC(),
		Stores:    map[string]storeResult{},
		Readiness: readinessResult{ShuttingDown: s.draining.Load()},
		Queues:    []oversight.QueueStats{},
		Inflight:  s.inflight.Load() - 1, // without this request
		Limits: limitsResult{
			BodyBytes: cmp.Or(s.BodyLimit, receiving.BodyLimit), Connections: s.MaxConns, ConnsPerIP: s.MaxConnsPerIP,
			HandlerBudgetMS: s.Intake.CommitTimeout.Milliseconds(), StartTimeoutMS: s.Intake.StartTimeout.Milliseconds(),
			AckBudgetMS: s.Intake.AckBudget.Milliseconds(),
		},
		LastMinute: sum,
		Latency:    sum.latencies(),
		Dedupe:     dedupeResult{Layers: []string{"workflow_id", "idempotency_keys", "event_id"}},
	}
	if total := sum.Accepted + sum.Duplicate; total > 0 {
		r.Dedupe.DuplicatesShare = float64(sum.Duplicate) / float64(total)
	}
	s.checkStores(&r)
	return r
}

// checkStores checks all stores concurrently. Webhooks are accepted as long as one of them can commit, or all if both are needed.
func (s *Server) checkStores(r *selfTestResult) {
	ctx, cancel := context.WithTimeout(context.Background(), selfTestTimeout)
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
	r.OK = s.SelfTest.NeedsBoth
	for _, store := range r.Stores {
		r.OK = (r.OK || store.Up) && (store.Up || !s.SelfTest.NeedsBoth)
	}
}
