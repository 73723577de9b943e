package workflows_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"holdfast/activities"
	"holdfast/event"
	"holdfast/providers"
	"holdfast/workflows"
)

var (
	errOutage   = &event.Error{Class: event.ClassTransient, Code: "connection_refused", Text: "the store is away"}
	errRejected = &event.Error{Class: event.ClassRejected, Code: "not_null_violation", Text: "column name"}
	errUnknown  = errors.New("something else")
	errPanic    = errors.New("CANARY") // is thrown, not returned
)

// scriptedStore fails as its script says, call by call, and succeeds after its end.
type scriptedStore struct {
	persist, upsert, record []error
	persisted               event.Persisted
	first                   event.Status
	persists, upserts       int
	deadLetters             []event.DeadLetter
	at                      []time.Time
	now                     func() time.Time
}

func next(script []error, call int) error {
	if call >= len(script) {
		return nil
	}
	if errors.Is(script[call], errPanic) {
		panic(errPanic)
	}
	return script[call]
}

// ProcessFirst leaves it to the two steps, unless the script says otherwise.
func (s *scriptedStore) ProcessFirst(context.Context, event.Receipt, []byte, event.Parsed, event.Run) (event.Status, error) {
	return s.first, nil
}

func (s *scriptedStore) Persist(
	context.Context, event.Receipt, []byte, event.Parsed, event.Run,
) (event.Persisted, error) {
	s.persists++
	return s.persisted, next(s.persist, s.persists-1)
}

func (s *scriptedStore) UpsertEntities(context.Context, event.Receipt, event.Parsed, event.Run) error {
	s.upserts++
	s.at = append(s.at, s.now())
	return next(s.upsert, s.upserts-1)
}

func (s *scriptedStore) RecordDeadLetter(_ context.Context, d event.DeadLetter) error {
	s.deadLetters = append(s.deadLetters, d)
	return next(s.record, len(s.deadLetters)-1)
}

// outcome is what every test here asserts: how the run ended, with what, and how often the store was asked.
type outcome struct {
	errorType                      string
	result                         event.Outcome
	persists, upserts, deadLetters int
}

const customerUpdated = `{"id":"evt_1","object":"event","type":"customer.updated","created":1700000000,` +
	`"data":{"object":{"id":"cus_1","object":"customer","name":"Ada"}}}`

// process runs the workflow over a Stripe event and asserts its outcome.
func process(t *testing.T, store *scriptedStore, body string, want outcome, arrange ...func(*testsuite.TestWorkflowEnvironment)) {
	t.Helper()
	catalogue, err := providers.Load("")
	require.NoError(t, err)
	classify, err := activities.NewInterceptor(nil)
	require.NoError(t, err)

	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{classify}})
	env.SetTestTimeout(30 * time.Second)
	store.now = env.Now
	workflows.Register(env)
	env.RegisterActivity(&activities.Activities{Catalogue: catalogue, Events: store, Entities: store, DeadLetters: store})
	for _, f := range arrange {
		f(env)
	}
	env.ExecuteWorkflow(workflows.TypeProcessEvent, receipt(), raw(body))

	require.True(t, env.IsWorkflowCompleted())
	var got outcome
	if err := env.GetWorkflowError(); err != nil {
		var application *temporal.ApplicationError
		require.ErrorAs(t, err, &application)
		got.errorType = application.Type()
	} else {
		var result workflows.ProcessResult
		require.NoError(t, env.GetWorkflowResult(&result))
		require.Equal(t, receipt().ID, result.EventID)
		got.result = result.Outcome
	}
	got.persists, got.upserts, got.deadLetters = store.persists, store.upserts, len(store.deadLetters)
	require.Equal(t, want, got)
}

func receipt() event.Receipt {
	return event.Receipt{
		ID:         "0192f0a0-0000-7000-8000-000000000001",
		Provider:   "stripe",
		Key:        "evt_1",
		KeyFrom:    event.KeyFromEvent,
		Type:       "customer.updated",
		ReceivedAt: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	}
}

func raw(body string) converter.RawValue {
	return converter.NewRawValue(&commonpb.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON)},
		Data:     []byte(body),
	})
}

// A new event in whose way nothing stands:
//   - the persist step has processed it, and there is no other
func TestProcessEvent_succeedsAtOneGo(t *testing.T) {
	process(t, &scriptedStore{first: event.StatusProcessed}, customerUpdated, outcome{result: event.OutcomeProcessed})
}

// One that comes late:
//   - the persist step has stored it, and its entities are folded by the upsert step
func TestProcessEvent_foldsWhatComesLate(t *testing.T) {
	process(t, &scriptedStore{first: event.StatusPersisted}, customerUpdated, outcome{result: event.OutcomeProcessed, upserts: 1})
}

// A good event on a good day:
//   - each step succeeds on the fast lane
//   - the run completes as processed, and no dead letter is written
func TestProcessEvent_succeedsOnTheFastLane(t *testing.T) {
	process(t, &scriptedStore{}, customerUpdated, outcome{result: event.OutcomeProcessed, persists: 1, upserts: 1})
}

// Another event owns the key:
//   - the run completes as a duplicate, and entities are left alone
func TestProcessEvent_endsAsDuplicate(t *testing.T) {
	store := &scriptedStore{persisted: event.Persisted{Duplicate: true, Owner: "another"}}
	process(t, store, customerUpdated, outcome{result: event.OutcomeDuplicate, persists: 1})
}

// The store is away for longer than any policy allows attempts:
//   - the fast lane gives up after two executions, the durable lane goes on without counting
//   - the event is processed when the store is back, and there is no dead letter
func TestProcessEvent_outlastsAnOutage(t *testing.T) {
	var outage []error
	for range 40 {
		outage = append(outage, errOutage)
	}
	process(t, &scriptedStore{persist: outage}, customerUpdated,
		outcome{result: event.OutcomeProcessed, persists: 41, upserts: 1})
}

// A step fails for an unknown reason every time:
//   - each failure is counted, over both lanes: Stripe's policy has four attempts, after 10 s, 60 s and 300 s ± 20 %
//   - then there is a dead letter with the step, the class and the count, and the run fails
func TestProcessEvent_usesUpThePolicy(t *testing.T) {
	store := &scriptedStore{upsert: []error{errUnknown, errUnknown, errUnknown, errUnknown}}
	process(t, store, customerUpdated,
		outcome{errorType: workflows.ErrorDeadLettered, persists: 1, upserts: 4, deadLetters: 1})

	failed := store.deadLetters[0].Failure
	require.Equal(t, event.StepUpsert, failed.Step)
	require.Equal(t, event.ClassFailed, failed.Class)
	require.Equal(t, 4, failed.Attempts)
	require.Equal(t, []byte(customerUpdated), store.deadLetters[0].Body)
	for i, want := range []float64{10, 60, 300} {
		require.InEpsilon(t, want, store.at[i+1].Sub(store.at[i]).Seconds(), 0.2, "pause %d", i+1)
	}
}

// Trouble of both kinds, mixed:
//   - what is transient between two failures is retried and not counted
func TestProcessEvent_countsOnlyFailures(t *testing.T) {
	store := &scriptedStore{upsert: []error{
		errUnknown, errOutage, errOutage, errUnknown, errOutage, errOutage, errOutage, errUnknown,
	}}
	process(t, store, customerUpdated, outcome{result: event.OutcomeProcessed, persists: 1, upserts: 9})
}

// The event itself is at fault:
//   - it is not tried again on either lane, and goes straight to a dead letter
func TestProcessEvent_doesNotRetryARejectedEvent(t *testing.T) {
	store := &scriptedStore{persist: []error{errRejected}}
	process(t, store, customerUpdated, outcome{errorType: workflows.ErrorDeadLettered, persists: 1, deadLetters: 1})
	require.Equal(t, event.ClassRejected, store.deadLetters[0].Failure.Class)
	require.Equal(t, "not_null_violation", store.deadLetters[0].Failure.Code)
}

// The body is not JSON:
//   - nothing is persisted, and the dead letter has the raw bytes
func TestProcessEvent_deadLettersPoison(t *testing.T) {
	store := &scriptedStore{}
	process(t, store, "not json", outcome{errorType: workflows.ErrorDeadLettered, deadLetters: 1})
	require.Equal(t, "not json", string(store.deadLetters[0].Body))
	require.Equal(t, event.StepParse, store.deadLetters[0].Failure.Step)
}

// The dead letter itself cannot be written for a long time:
//   - it is tried until it is, whatever the class of the error
func TestProcessEvent_recordsTheDeadLetterWhateverItTakes(t *testing.T) {
	store := &scriptedStore{
		persist: []error{errRejected},
		record:  []error{errOutage, errUnknown, errRejected, errUnknown, errUnknown, errUnknown, errUnknown, errUnknown},
	}
	process(t, store, customerUpdated, outcome{errorType: workflows.ErrorDeadLettered, persists: 1, deadLetters: 9})
}

// An operator cancels the run while a step waits for its next attempt:
//   - the event becomes a dead letter all the same, with the reason
func TestProcessEvent_deadLettersACanceledRun(t *testing.T) {
	store := &scriptedStore{upsert: []error{errUnknown}}
	process(t, store, customerUpdated,
		outcome{errorType: workflows.ErrorDeadLettered, persists: 1, upserts: 1, deadLetters: 1},
		func(env *testsuite.TestWorkflowEnvironment) {
			env.RegisterDelayedCallback(env.CancelWorkflow, 3*time.Second)
		})
	require.Equal(t, "canceled", store.deadLetters[0].Failure.Code)
}

// A step panics with a value that holds a payload:
//   - it counts as a failure, and the value reaches neither history nor dead letter
func TestProcessEvent_survivesAPanic(t *testing.T) {
	store := &scriptedStore{upsert: []error{errPanic, errPanic, errPanic, errPanic}}
	process(t, store, customerUpdated,
		outcome{errorType: workflows.ErrorDeadLettered, persists: 1, upserts: 4, deadLetters: 1})
	failed := store.deadLetters[0].Failure
	require.Equal(t, 4, failed.Attempts)
	require.Equal(t, "panic", failed.Code)
	require.NotContains(t, failed.Message, errPanic.Error())
}
