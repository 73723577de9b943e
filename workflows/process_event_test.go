package workflows_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
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
	unnamed                 error // of asking for the number of a dead letter
	persisted               event.Persisted
	first                   event.Persisted
	persists, upserts       int
	deadLetters             []event.DeadLetter
	at                      []time.Time
	now                     func() time.Time
	logger                  log.Logger // nil: the test environment's own
}

func next(script []error, invocation int) error {
	if invocation >= len(script) {
		return nil
	}
	if errors.Is(script[invocation], errPanic) {
		panic(errPanic)
	}
	return script[invocation]
}

// Write leaves the entities to the second step, unless the script says otherwise.
func (s *scriptedStore) Write(
	_ context.Context, scope event.Scope, _ event.Receipt, _ []byte, _ event.Parsed, _ event.Run,
) (event.Persisted, error) {
	switch {
	case scope == event.EntitiesOnly:
		s.upserts++
		s.at = append(s.at, s.now())
		return event.Persisted{}, next(s.upsert, s.upserts-1)
	case s.first.Processed:
		return s.first, nil
	}
	s.persists++
	return s.persisted, next(s.persist, s.persists-1)
}

func (s *scriptedStore) RecordDeadLetter(_ context.Context, d event.DeadLetter) error {
	s.deadLetters = append(s.deadLetters, d)
	return next(s.record, len(s.deadLetters)-1)
}

func (s *scriptedStore) DeadLetterID(context.Context, string, string) (int64, error) {
	return numberOfLetter, s.unnamed
}

// numberOfLetter is the number of each dead letter of the scripted store.
const numberOfLetter = 812

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
	classify := activities.NewInterceptor(nil)

	var suite testsuite.WorkflowTestSuite
	if store.logger != nil {
		suite.SetLogger(store.logger)
	}
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{classify}})
	env.SetTestTimeout(30 * time.Second)
	store.now = env.Now
	workflows.Register(env)
	env.RegisterActivity(&activities.Activities{
		Catalogue: catalogue, Events: store, DeadLetters: store, Inputs: &inputs{body: body, away: 3},
	})
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

// An operator has decided about the event: whichever step finds the decision, the run ends with its outcome and names the
// operator, time and reason. No step is retried, and no dead letter is reported.
func TestADecisionEndsTheRun(t *testing.T) {
	t.Parallel()
	decision := event.Decision{EventID: receipt().ID, Outcome: event.OutcomeDiscarded, By: "ada", Reason: "a test of the sender",
		At: time.Date(2025, 11, 21, 12, 0, 0, 0, time.UTC)}
	refused := []error{&event.DecisionError{Decision: decision}}
	for name, c := range map[string]struct {
		store scriptedStore
		body  string
		want  outcome
	}{
		"persist": {scriptedStore{persist: refused}, customerUpdated, outcome{persists: 1}},
		"upsert":  {scriptedStore{upsert: refused}, customerUpdated, outcome{persists: 1, upserts: 1}},
		"parse":   {scriptedStore{record: refused}, `{`, outcome{deadLetters: 1}},
		"failing": {scriptedStore{persist: []error{errRejected}, record: refused}, customerUpdated, outcome{persists: 1, deadLetters: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.want.result = event.OutcomeDiscarded
			process(t, &c.store, c.body, c.want, func(env *testsuite.TestWorkflowEnvironment) {
				t.Cleanup(func() {
					var result workflows.ProcessResult
					require.NoError(t, env.GetWorkflowResult(&result))
					require.Equal(t, &decision, result.Decision)
				})
			})
		})
	}
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
//   - the persist step has processed it, and the upsert step says so without the store
//   - whatever becomes of that step, the event is processed
//   - what a worker of an earlier release has processed has no upsert step, since nothing says what was done
func TestProcessEvent_succeedsAtOneGo(t *testing.T) {
	all := []string{"ParseEvent", "PersistEvent", "UpsertEntities"}
	named := event.Persisted{Processed: true, Entities: []string{"created customer cus_1"}}
	fails := func(env *testsuite.TestWorkflowEnvironment) {
		env.OnActivity("UpsertEntities", mock.Anything, mock.Anything, mock.Anything, mock.Anything).Return(nil, errRejected)
	}
	for _, c := range []struct {
		persisted event.Persisted
		arrange   func(*testsuite.TestWorkflowEnvironment)
		steps     []string
	}{
		{named, func(*testsuite.TestWorkflowEnvironment) {}, all},
		{named, fails, all},
		{event.Persisted{Processed: true}, func(*testsuite.TestWorkflowEnvironment) {}, all[:2]},
	} {
		var steps []string
		process(t, &scriptedStore{first: c.persisted}, customerUpdated, outcome{result: event.OutcomeProcessed}, c.arrange,
			func(env *testsuite.TestWorkflowEnvironment) {
				env.SetOnLocalActivityStartedListener(func(info *activity.Info, _ context.Context, _ []any) {
					if !slices.Contains(steps, info.ActivityType.Name) {
						steps = append(steps, info.ActivityType.Name)
					}
				})
			})
		require.Equal(t, c.steps, steps)
	}
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
//   - each failure is counted, over both lanes: Stripe's policy has three attempts, after 10 s and 60 s ± 20 %
//   - then there is a dead letter with the step, the class and the count, and the run fails
func TestProcessEvent_usesUpThePolicy(t *testing.T) {
	store := &scriptedStore{upsert: []error{errUnknown, errUnknown, errUnknown}}
	process(t, store, customerUpdated,
		outcome{errorType: workflows.ErrorDeadLettered, persists: 1, upserts: 3, deadLetters: 1})

	failed := store.deadLetters[0].Failure
	require.Equal(t, event.StepUpsert, failed.Step)
	require.Equal(t, event.ClassFailed, failed.Class)
	require.Equal(t, 3, failed.Attempts)
	require.Equal(t, []byte(customerUpdated), store.deadLetters[0].Body)
	for i, want := range []float64{10, 60} {
		require.InEpsilon(t, want, store.at[i+1].Sub(store.at[i]).Seconds(), 0.2, "pause %d", i+1)
	}
}

// The database was set back to before the persist step:
//   - the event is persisted again, at once and once
//   - after that it is a failure like any other
func TestProcessEvent_persistsAgainWhatTheDatabaseHasLost(t *testing.T) {
	errGone := &event.Error{Class: event.ClassFailed, Code: event.CodeNotPersisted, Text: "the event has no row"}
	process(t, &scriptedStore{upsert: []error{errGone}}, customerUpdated,
		outcome{result: event.OutcomeProcessed, persists: 2, upserts: 2})
	process(t, &scriptedStore{upsert: []error{errGone, errGone, errGone, errGone}}, customerUpdated,
		outcome{errorType: workflows.ErrorDeadLettered, persists: 2, upserts: 4, deadLetters: 1})
}

// Trouble of both kinds, mixed:
//   - what is transient between two failures is retried and not counted
func TestProcessEvent_countsOnlyFailures(t *testing.T) {
	store := &scriptedStore{upsert: []error{
		errUnknown, errOutage, errOutage, errOutage, errOutage, errOutage, errUnknown,
	}}
	process(t, store, customerUpdated, outcome{result: event.OutcomeProcessed, persists: 1, upserts: 8})
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

// A failed run names its dead letter, in its message and in its details.
func TestProcessEvent_namesItsDeadLetter(t *testing.T) {
	for name, c := range map[string]struct {
		unnamed error
		message string
		id      int64
	}{
		"its number is found":     {nil, "dead letter 812: parse rejected: ", numberOfLetter},
		"its number is not found": {errOutage, "parse rejected: ", 0},
	} {
		t.Run(name, func(t *testing.T) {
			var env *testsuite.TestWorkflowEnvironment
			process(t, &scriptedStore{unnamed: c.unnamed}, "not json", outcome{errorType: workflows.ErrorDeadLettered, deadLetters: 1},
				func(e *testsuite.TestWorkflowEnvironment) { env = e })
			var failed *temporal.ApplicationError
			require.ErrorAs(t, env.GetWorkflowError(), &failed)
			require.Regexp(t, "^"+c.message, failed.Message())
			var failureDetail struct {
				event.Failure

				DeadLetterID int64 `json:"dead_letter_id"`
			}
			require.NoError(t, failed.Details(&failureDetail))
			require.Equal(t, c.id, failureDetail.DeadLetterID)
			require.Equal(t, event.StepParse, failureDetail.Step)
		})
	}
}

// The dead letter itself cannot be written for a long time:
//   - it is tried until it is, whatever the class of the error
func TestProcessEvent_retriesTheDeadLetterWithoutLimit(t *testing.T) {
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
	failed := store.deadLetters[0].Failure
	require.Equal(t, event.CodeCanceled, failed.Code)
	require.Contains(t, failed.Message, event.AwaitsOperator)
}

// A step panics with a value that holds a payload:
//   - it counts as a failure, and the value reaches neither history nor dead letter
func TestProcessEvent_survivesAPanic(t *testing.T) {
	store := &scriptedStore{upsert: []error{errPanic, errPanic, errPanic}}
	process(t, store, customerUpdated,
		outcome{errorType: workflows.ErrorDeadLettered, persists: 1, upserts: 3, deadLetters: 1})
	failed := store.deadLetters[0].Failure
	require.Equal(t, 3, failed.Attempts)
	require.Equal(t, "panic", failed.Code)
	require.NotContains(t, failed.Message, errPanic.Error())
}

// inputs is what the run of a test was started with.
type inputs struct {
	body string
	away int // calls that fail first
}

func (i *inputs) Input(context.Context, event.Run) (event.Receipt, []byte, error) {
	if i.away > 0 {
		i.away--
		return event.Receipt{}, nil, errOutage
	}
	return receipt(), []byte(i.body), nil
}

// The store is away:
//   - the steps of an event whose body and changes are below the limit are given both; those of a larger one read it, however often
//     Temporal is away
func TestProcessEvent_passesNoLargeBodyOn(t *testing.T) {
	t.Parallel()
	const empty = `{"id":"evt_1","object":"event","type":"customer.updated","created":1700000000,` +
		`"data":{"object":{"id":"cus_1","object":"customer","name":""}}}`
	of := func(size int) string {
		return strings.Replace(empty, `"name":"`, `"name":"`+strings.Repeat("x", size-len(empty)), 1)
	}
	for name, c := range map[string]struct {
		size   int
		passed bool
	}{
		"both below":        {activities.LargeInput - 1000, true},
		"changes beyond it": {activities.LargeInput, false},
		"both beyond":       {activities.LargeInput + 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &scriptedStore{persist: []error{errOutage, errOutage}, upsert: []error{errRejected}, record: []error{errOutage}}
			largest := 0
			process(t, store, of(c.size), outcome{errorType: workflows.ErrorDeadLettered, persists: 3, upserts: 1, deadLetters: 2},
				func(env *testsuite.TestWorkflowEnvironment) {
					env.SetOnActivityStartedListener(func(_ *activity.Info, _ context.Context, args converter.EncodedValues) {
						passed, ok := args.(interface{ Payloads() *commonpb.Payloads })
						require.True(t, ok)
						largest = max(largest, passed.Payloads().Size())
					})
				})
			require.Equal(t, c.passed, largest > activities.LargeInput/2, "%d bytes are passed on", largest)
			require.Len(t, store.deadLetters[1].Body, c.size)
		})
	}
}

// An event fails before its key is claimed, and another event has the key:
//   - the run of the redelivery of a dead event fails as that event
//   - any other ends as a duplicate
func TestProcessEvent_failsAsTheOwnerOfItsKey(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refused event.DuplicateError
		want    outcome
	}{
		"dead":      {event.DuplicateError{Owner: "dead", OwnerWaits: true}, outcome{errorType: workflows.ErrorDeadLettered, deadLetters: 2}},
		"processed": {event.DuplicateError{Owner: "done"}, outcome{result: event.OutcomeDuplicate, deadLetters: 1}},
		"conflict": {
			event.DuplicateError{Owner: "other", Conflict: &event.Conflict{Owner: "other"}},
			outcome{result: event.OutcomeDuplicate, deadLetters: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &scriptedStore{record: []error{&c.refused}}
			var memo map[string]any
			process(t, store, `{`, c.want, func(env *testsuite.TestWorkflowEnvironment) {
				env.OnUpsertMemo(mock.Anything).Run(func(args mock.Arguments) { memo, _ = args.Get(0).(map[string]any) }).Return(nil).Maybe()
			})
			if name == "dead" {
				require.Equal(t, "dead", store.deadLetters[1].Receipt.ID)
				require.Equal(t, map[string]any{workflows.MemoEventID: "dead"}, memo)
			} else {
				require.Nil(t, memo)
			}
		})
	}
}
