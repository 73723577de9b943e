package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"holdfast/activities"
	"holdfast/event"
	"holdfast/providers"
	"holdfast/workflows"
)

const meterFailed = `{"id":"evt_1","object":"v2.core.event","type":"v1.billing.meter.error_report_triggered",` +
	`"created":"2024-01-01T00:00:00Z","related_object":{"id":"mtr_1","type":"billing.meter","url":"/v1/billing/meters/mtr_1"}}`

// scriptedAPI fails as its script says, and keeps what it has given.
type scriptedAPI struct {
	script  []error
	without bool // no credential
	calls   []time.Time
	now     func() time.Time
	stored  *event.Fetched
}

func (a *scriptedAPI) CanFetch(event.Receipt, []byte) bool { return !a.without }

func (a *scriptedAPI) Fetch(context.Context, event.Receipt, []byte) (event.Fetched, error) {
	a.calls = append(a.calls, a.now())
	return event.Fetched{At: a.now(), State: []byte(`{"display_name":"calls"}`)}, next(a.script, len(a.calls)-1)
}

func (a *scriptedAPI) Fetched(context.Context, string) (*event.Fetched, error) { return a.stored, nil }

func (a *scriptedAPI) SaveFetched(_ context.Context, _ string, f event.Fetched) (event.Fetched, error) {
	a.stored = &f
	return f, nil
}

// parsedStore keeps the parse that it stored.
type parsedStore struct {
	scriptedStore

	parsed event.Parsed
}

func (s *parsedStore) Write(
	ctx context.Context, scope event.Scope, r event.Receipt, body []byte, p event.Parsed, run event.Run,
) (event.Persisted, error) {
	if scope != event.EntitiesOnly {
		s.parsed = p
	}
	return s.scriptedStore.Write(ctx, scope, r, body, p, run)
}

// A thin event is fetched once before it is stored. What the provider asks to wait for isn't counted, its failures are, and a
// refusal ends the run. Without a credential the event is processed as it came.
func TestAThinEventIsFetched(t *testing.T) {
	t.Parallel()
	failed := &event.Error{Class: event.ClassFailed, Code: "fetch_unavailable"}
	refused := &event.Error{Class: event.ClassRejected, Code: "fetch_unauthorized"}
	limited := &event.Error{Class: event.ClassTransient, Code: "fetch_rate_limited", RetryAfter: 7 * time.Minute}
	all := make([]error, 10)
	for n := range all {
		all[n] = failed
	}
	stored := &event.Fetched{At: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), State: []byte(`{"display_name":"calls"}`)}
	for name, c := range map[string]struct {
		api   scriptedAPI
		calls int
		code  string // of the dead letter
		state string
	}{
		"at once":              {scriptedAPI{}, 1, "", `{"display_name":"calls"}`},
		"limited":              {scriptedAPI{script: []error{limited}}, 2, "", `{"display_name":"calls"}`},
		"failed":               {scriptedAPI{script: []error{failed, failed}}, 3, "", `{"display_name":"calls"}`},
		"never":                {scriptedAPI{script: all}, 10, "fetch_unavailable", ""},
		"refused":              {scriptedAPI{script: []error{refused}}, 1, "fetch_unauthorized", ""},
		"stored":               {scriptedAPI{stored: stored, without: true}, 0, "", `{"display_name":"calls"}`},
		"without a credential": {scriptedAPI{without: true}, 0, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			catalogue, err := providers.Load("")
			require.NoError(t, err)
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestWorkflowEnvironment()
			env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{activities.NewInterceptor(nil)}})
			store, api := &parsedStore{}, &c.api
			store.now, api.now = env.Now, env.Now
			workflows.Register(env)
			env.RegisterActivity(&activities.Activities{
				Catalogue: catalogue, Events: store, DeadLetters: store, States: api, Fetcher: api,
			})
			env.ExecuteWorkflow(workflows.TypeProcessEvent, receipt(), raw(meterFailed))

			require.True(t, env.IsWorkflowCompleted())
			require.Len(t, api.calls, c.calls)
			if c.code != "" {
				require.Error(t, env.GetWorkflowError())
				require.Zero(t, store.persists)
				require.Equal(t, c.code, store.deadLetters[0].Failure.Code)
				require.Equal(t, event.StepFetch, store.deadLetters[0].Failure.Step)
				return
			}
			require.NoError(t, env.GetWorkflowError())
			require.Equal(t, c.state, string(store.parsed.Changes[0].State))
			if name == "limited" {
				require.Equal(t, limited.RetryAfter, api.calls[1].Sub(api.calls[0]).Round(time.Second))
			}
		})
	}
}

// chainedAPI gets the states of a payment, and then of its mandate.
type chainedAPI struct{ scriptedAPI }

func (a *chainedAPI) Fetch(_ context.Context, r event.Receipt, _ []byte) (event.Fetched, error) {
	a.calls = append(a.calls, a.now())
	err := next(a.script, len(a.calls)-1)
	if r.Fetched == nil {
		return event.Fetched{At: a.now(), State: []byte(`{"amount":1500,"links":{"mandate":"MD1"}}`)}, err
	}
	return r.Fetched.And([]byte(`{"id":"MD1","links":{"customer":"CU1"}}`)), err
}

// What a fetched state names is fetched by another activity, whose failures don't repeat the GET before it.
func TestStatesNamedByAStateAreFetched(t *testing.T) {
	t.Parallel()
	catalogue, err := providers.Load("")
	require.NoError(t, err)
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{activities.NewInterceptor(nil)}})
	store, api := &parsedStore{}, &chainedAPI{scriptedAPI{
		script: []error{nil, &event.Error{Class: event.ClassFailed, Code: "fetch_unavailable"}},
	}}
	store.now, api.now = env.Now, env.Now
	workflows.Register(env)
	env.RegisterActivity(&activities.Activities{
		Catalogue: catalogue, Events: store, DeadLetters: store, States: api, Fetcher: api,
	})
	r := receipt()
	r.Provider, r.Root = "gocardless", []byte(`{}`)
	env.ExecuteWorkflow(workflows.TypeProcessEvent, r,
		raw(`{"id":"EV1","resource_type":"payments","action":"confirmed","links":{"payment":"PM1"}}`))

	require.True(t, env.IsWorkflowCompleted())
	require.NoError(t, env.GetWorkflowError())
	require.Len(t, api.calls, 3, "the payment once, the mandate twice")
	states := map[string]string{}
	for _, c := range store.parsed.Changes {
		states[c.Kind] = string(c.State)
	}
	require.JSONEq(t, `{"amount":1500,"mandate":"MD1","customer":"CU1"}`, states["transaction"])
}
