package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"holdfast/activities"
	"holdfast/event"
	"holdfast/event/fold"
	"holdfast/internal/devstack/stacktest"
	"holdfast/migrations"
	"holdfast/persistence"
	"holdfast/providers"
	"holdfast/workflows"
)

var cluster *stacktest.Cluster

func TestMain(m *testing.M) {
	os.Exit(stacktest.Main(m, func() (err error) {
		if cluster, err = stacktest.StartCluster(); err != nil {
			return err
		}
		return cluster.Template(func(url string) error { return migrations.Up(context.Background(), url) })
	}))
}

// seedsVariable asks for more schedules than a run of all tests has time for.
const seedsVariable = "HOLDFAST_TEST_SEEDS"

func seeds(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv(seedsVariable)
	if text == "" {
		return 12
	}
	n, err := strconv.ParseUint(text, 10, 32)
	require.NoError(t, err, seedsVariable)
	return n
}

// faulty is a real store in front of which calls fail as a seed says:
//   - before anything has happened, or after everything has, the reply being lost
//   - late: the caller has given up, and the call takes effect when others have come after it
//   - with trouble of the infrastructure, with an error that is counted, or with a panic
type faulty struct {
	*persistence.Store

	// mu is held for the whole of a call: the test environment may leave one behind and make the next.
	mu     sync.Mutex
	random *rand.Rand
	// share of the calls that fail.
	share float64
	inRow int // calls that have failed one after the other
	late  []func()
	told  []string
}

func (f *faulty) Write(
	ctx context.Context, scope event.Scope, r event.Receipt, body []byte, p event.Parsed, run event.Run,
) (event.Persisted, error) {
	what := "persist"
	if scope == event.EntitiesOnly {
		what = "upsert"
	}
	return faultyCall(ctx, f, what, func(ctx context.Context) (event.Persisted, error) {
		return f.Writer.Write(ctx, scope, r, body, p, run)
	})
}

func (f *faulty) RecordDeadLetter(ctx context.Context, d event.DeadLetter) error {
	_, err := faultyCall(ctx, f, "record", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, f.DeadLetters.RecordDeadLetter(ctx, d)
	})
	return err
}

func (f *faulty) DeadLetterID(ctx context.Context, eventID, runID string) (int64, error) {
	return f.DeadLetters.DeadLetterID(ctx, eventID, runID)
}

// maxInRow is less than the ten attempts after which the test environment gives up an activity that a server would go on with.
const maxInRow = 8

// faultyCall makes a call, or fails before or after it, or leaves it to come late. Each call has a result of its own: one that
// comes late must not write where its caller has long read.
func faultyCall[T any](ctx context.Context, f *faulty, name string, do func(context.Context) (T, error)) (result T, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.arrive()
	f.inRow++
	if f.random.Float64() >= f.share || f.inRow > maxInRow {
		f.inRow = 0
		f.told = append(f.told, name)
		return do(ctx)
	}
	when := []string{"before", "after", "late"}[f.random.IntN(3)]
	how := []error{errOutage, errUnknown, errUnknown, errPanic, context.DeadlineExceeded}[f.random.IntN(5)]
	f.told = append(f.told, fmt.Sprintf("%s (%s: %v)", name, when, how))
	switch when {
	case "after":
		if _, err := do(ctx); err != nil {
			return result, err
		}
	case "late":
		f.late = append(f.late, func() { _, _ = do(context.Background()) })
	}
	if errors.Is(how, errPanic) {
		panic(errPanic)
	}
	return result, how
}

// fail sets the share of the calls that fail from now on.
func (f *faulty) fail(share float64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.share = share
}

func (f *faulty) note(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told = append(f.told, what)
}

// arrive lets some of the late calls take effect.
func (f *faulty) arrive() {
	waiting := f.late
	f.late = nil
	for _, do := range waiting {
		if f.random.IntN(2) == 0 {
			do()
		} else {
			f.late = append(f.late, do)
		}
	}
}

// arriveAll ends the wait of all of them.
func (f *faulty) arriveAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, do := range f.late {
		do()
	}
	f.late = nil
}

// Some events of one order arrive in any order, some twice with one key, while many database calls fail, or only seem to. In
// every schedule:
//   - each key is processed once, or its event is one open dead letter; never both, never neither
//   - the entity is the fold of exactly the processed events
//   - once the database is healthy again, replaying the dead letters completes everything
func TestProcessEvent_underAnySchedule(t *testing.T) {
	t.Parallel()
	store, err := persistence.Open(t.Context(), persistence.Config{URL: cluster.Database(t), MaxConns: 4})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	catalogue, err := providers.Load("")
	require.NoError(t, err)
	for seed := range seeds(t) {
		s := &schedule{t: t, seed: seed, catalogue: catalogue, store: &faulty{Store: store, random: rand.New(rand.NewPCG(seed, 0))}}
		s.store.fail([]float64{0.3, 0.6, 0.85}[seed%3])
		s.load()
		s.runAll()
		s.requireConsistent("under faults")
		s.store.fail(0)
		s.runAll()
		s.requireConsistent("when well again")
		require.Empty(t, s.openDeadLetters(), s.told())
	}
}

// schedule is the life of one entity under one seed.
type schedule struct {
	t         *testing.T
	seed      uint64
	catalogue *providers.Catalogue
	store     *faulty
	entity    event.EntityRef
	receipts  []event.Receipt
	bodies    [][]byte
}

// told is what has happened, for the message of a failure.
func (s *schedule) told() string {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	return fmt.Sprintf("seed %d (%s): %q", s.seed, seedsVariable, s.store.told)
}

// load makes the events and the order in which they come.
func (s *schedule) load() {
	s.entity = event.EntityRef{Provider: "hmac", Kind: "order", ExternalID: fmt.Sprintf("order_%d", s.seed)}
	random := s.store.random
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for n := range 3 + random.IntN(3) {
		kind := []string{"order.updated", "order.updated", "order.updated", "order.deleted"}[random.IntN(4)]
		field := []string{"a", "b"}[random.IntN(2)]
		key := fmt.Sprintf("evt_%d_%d", s.seed, n)
		body := fmt.Appendf(nil, `{"id":%q,"type":%q,"timestamp":%q,"data":{"id":%q,%q:%d}}`,
			key, kind, at.Add(time.Duration(random.IntN(3))*time.Second).Format(time.RFC3339), s.entity.ExternalID, field, n)
		for range 1 + random.IntN(2) {
			s.bodies = append(s.bodies, body)
			s.receipts = append(s.receipts, event.Receipt{
				ID: fmt.Sprintf("0192f0a0-0000-7000-8000-%06x%06x", s.seed, len(s.receipts)), Provider: "hmac", Key: key, KeyFrom: event.KeyFromEvent, Type: kind, ReceivedAt: at,
			})
		}
	}
	random.Shuffle(len(s.receipts), func(i, j int) {
		s.receipts[i], s.receipts[j] = s.receipts[j], s.receipts[i]
		s.bodies[i], s.bodies[j] = s.bodies[j], s.bodies[i]
	})
}

// runAll runs the workflow of each event, one after the other, and lets in the end everything arrive that was late.
func (s *schedule) runAll() {
	for i, r := range s.receipts {
		s.store.note("> " + r.Key + " " + r.ID[30:])
		s.run(r, string(s.bodies[i]))
	}
	s.store.arriveAll()
}

func (s *schedule) run(r event.Receipt, body string) {
	classify := activities.NewInterceptor(nil)
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(silent{})
	env := suite.NewTestWorkflowEnvironment()
	// Its clock jumps ahead over every pause, and must stay behind that of the database all the same.
	env.SetStartTime(time.Now().AddDate(-1, 0, 0))
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{classify}})
	env.SetTestTimeout(time.Minute)
	workflows.Register(env)
	env.RegisterActivity(&activities.Activities{Catalogue: s.catalogue, Events: s.store, DeadLetters: s.store})
	env.ExecuteWorkflow(workflows.TypeProcessEvent, r, raw(body))
	require.True(s.t, env.IsWorkflowCompleted(), s.told())
	if err := env.GetWorkflowError(); err != nil {
		var application *temporal.ApplicationError
		require.ErrorAs(s.t, err, &application, s.told())
		require.Equal(s.t, workflows.ErrorDeadLettered, application.Type(), s.told())
	}
}

// requireConsistent compares what is stored with what must be.
func (s *schedule) requireConsistent(when string) {
	ctx, dead := s.t.Context(), s.openDeadLetters()
	provider, _ := s.catalogue.Lookup("hmac")
	processed := map[string]int{}
	deadKeys := map[string]bool{}
	var changes []event.OrderedChange
	for i, r := range s.receipts {
		if dead[r.ID] {
			deadKeys[r.Key] = true
		}
		record, err := s.store.Read.Event(ctx, r.ID)
		if errors.Is(err, event.ErrNotFound) {
			continue
		}
		require.NoError(s.t, err)
		require.Equal(s.t, dead[r.ID], record.Status == event.StatusDead, "%s, %s: %s", when, r.ID, s.told())
		if record.Status != event.StatusProcessed {
			continue
		}
		processed[r.Key]++
		parsed, err := provider.Parse(r, s.bodies[i])
		require.NoError(s.t, err)
		for _, c := range parsed.Changes {
			changes = append(changes, event.OrderedChange{Order: event.OrderOf(r, parsed, c), Change: c})
		}
	}
	for _, r := range s.receipts {
		require.LessOrEqual(s.t, processed[r.Key], 1, "%s, %s twice: %s", when, r.Key, s.told())
		require.True(s.t, processed[r.Key] == 1 || deadKeys[r.Key], "%s, %s is lost: %s", when, r.Key, s.told())
	}
	s.requireFold(when, changes)
}

func (s *schedule) requireFold(when string, changes []event.OrderedChange) {
	entity, err := s.store.Read.Entity(s.t.Context(), s.entity)
	if len(changes) == 0 {
		require.ErrorIs(s.t, err, event.ErrNotFound, "%s: %s", when, s.told())
		return
	}
	require.NoError(s.t, err, "%s: %s", when, s.told())
	want, err := fold.Of(s.entity, changes)
	require.NoError(s.t, err)
	require.JSONEq(s.t, string(want.State), string(entity.State), "%s: %s", when, s.told())
	require.Equal(s.t, want.Deleted, entity.Deleted, "%s: %s", when, s.told())
}

// openDeadLetters returns the events with an open dead letter.
func (s *schedule) openDeadLetters() map[string]bool {
	all := map[string]bool{}
	for i, r := range s.receipts {
		d, err := s.store.DeadLetters.DeadLetterOfEvent(s.t.Context(), r.ID)
		if errors.Is(err, event.ErrNotFound) {
			continue
		}
		require.NoError(s.t, err)
		require.Equal(s.t, s.bodies[i], d.Body)
		if d.State == event.DeadLetterOpen {
			all[r.ID] = true
		}
	}
	return all
}

// silent drops what the test environment has to say of every failed attempt.
type silent struct{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}
