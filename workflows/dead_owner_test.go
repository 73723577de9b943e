package workflows_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"holdfast/activities"
	"holdfast/event"
	"holdfast/providers"
	"holdfast/workflows"
)

// ownedStore is one in which a dead event owns the key.
type ownedStore struct {
	scriptedStore

	owner, resolved string
	conflict        *event.Conflict // of the event with its owner
	asked           []string        // event IDs
}

func (s *ownedStore) Write(
	_ context.Context, scope event.Scope, r event.Receipt, _ []byte, _ event.Parsed, _ event.Run,
) (event.Persisted, error) {
	switch {
	case scope == event.EntitiesOnly:
		s.upserts++
		s.resolved = r.ID
		return event.Persisted{}, next(s.upsert, s.upserts-1)
	case r.ID != s.owner:
		s.asked = append(s.asked, r.ID)
		return event.Persisted{Duplicate: true, Owner: s.owner, OwnerWaits: true, Conflict: s.conflict}, nil
	}
	s.asked = append(s.asked, r.ID)
	return event.Persisted{}, nil
}

// rescue runs the workflow over the redelivery of a Stripe event that has died and owns the key.
func rescue(t *testing.T, store *ownedStore, arrange ...func(*testsuite.TestWorkflowEnvironment)) (
	env *testsuite.TestWorkflowEnvironment, memo map[string]any,
) {
	t.Helper()
	return rescueWith(t, "", store, arrange...)
}

// stores are what an event's steps write to.
type stores interface {
	activities.EventStore
	activities.DeadLetterStore
}

// rescueWith does so with the definitions of a folder next to the built-in ones.
func rescueWith(t *testing.T, dir string, store stores, arrange ...func(*testsuite.TestWorkflowEnvironment)) (
	env *testsuite.TestWorkflowEnvironment, memo map[string]any,
) {
	t.Helper()
	catalogue, err := providers.Load(dir)
	require.NoError(t, err)
	classify := activities.NewInterceptor(nil)
	var suite testsuite.WorkflowTestSuite
	env = suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{classify}})
	workflows.Register(env)
	env.RegisterActivity(&activities.Activities{Catalogue: catalogue, Events: store, DeadLetters: store})
	env.OnUpsertMemo(mock.Anything).Run(func(args mock.Arguments) { memo, _ = args.Get(0).(map[string]any) }).Return(nil).Maybe()
	for _, f := range arrange {
		f(env)
	}
	env.ExecuteWorkflow(workflows.TypeProcessEvent, receipt(), raw(customerUpdated))
	require.True(t, env.IsWorkflowCompleted())
	return env, memo
}

// A dead event owns the key, and Temporal no longer knows it:
//   - the run goes on as that event, and says so in its memo and its result
//   - what fails then is a failure of that event
func TestProcessEvent_takesOverFromADeadOwner(t *testing.T) {
	store := &ownedStore{owner: "0198-dead"}
	env, memo := rescue(t, store)
	require.NoError(t, env.GetWorkflowError())
	var result workflows.ProcessResult
	require.NoError(t, env.GetWorkflowResult(&result))
	require.Equal(t, workflows.ProcessResult{EventID: store.owner, Outcome: event.OutcomeProcessed}, result)
	require.Equal(t, []string{receipt().ID, store.owner}, store.asked)
	require.Equal(t, store.owner, store.resolved)
	require.Equal(t, map[string]any{workflows.MemoEventID: store.owner}, memo)

	store = &ownedStore{owner: "0198-dead", scriptedStore: scriptedStore{upsert: []error{errRejected}}}
	env, _ = rescue(t, store)
	require.Error(t, env.GetWorkflowError())
	require.Len(t, store.deadLetters, 1)
	require.Equal(t, store.owner, store.deadLetters[0].Receipt.ID)
}

// A dead event owns the key, and the run ends as its duplicate and does nothing for it:
//   - the two have different content, so what came isn't a redelivery of that event
//   - the definition leaves dead events to the operators
func TestProcessEvent_leavesADeadOwnerDead(t *testing.T) {
	conflict := &event.Conflict{Provider: "stripe", EventID: receipt().ID, Owner: "0198-dead"}
	for name, c := range map[string]struct {
		conflict   *event.Conflict
		definition string // of the provider, instead of the built-in one
	}{
		"conflict":            {conflict: conflict},
		"redelivery rejected": {definition: stripeWithoutRedelivery},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if c.definition != "" {
				require.NoError(t, os.WriteFile(filepath.Join(dir, "stripe.yaml"), []byte(c.definition), 0o600))
			}
			store := &ownedStore{owner: "0198-dead", conflict: c.conflict}
			env, memo := rescueWith(t, dir, store)
			require.NoError(t, env.GetWorkflowError())
			var result workflows.ProcessResult
			require.NoError(t, env.GetWorkflowResult(&result))
			require.Equal(t, workflows.ProcessResult{
				EventID: receipt().ID, Outcome: event.OutcomeDuplicate, Owner: store.owner,
			}, result)
			require.Empty(t, store.resolved, "nothing is done for the owner")
			require.NotContains(t, store.asked, store.owner)
			require.Nil(t, memo)
		})
	}
}

// stripeWithoutRedelivery is a definition of stripe that leaves dead events to the operators.
const stripeWithoutRedelivery = `
name: stripe
extends: standard-webhooks
redelivery: reject
`

// failingOwner is a store that refuses every event, and in whose dead letters a dead event owns the key.
type failingOwner struct {
	scriptedStore

	owner string // "" for none
}

func (s *failingOwner) RecordDeadLetter(_ context.Context, d event.DeadLetter) error {
	s.deadLetters = append(s.deadLetters, d)
	if s.owner != "" && d.Receipt.ID != s.owner {
		return &event.DuplicateError{Owner: s.owner, OwnerWaits: true}
	}
	return nil
}

// A run that fails becomes one of the dead event that owns its key, and only where there is one.
func TestProcessEvent_failsAsADeadOwner(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		owner string
		memo  map[string]any
	}{
		"an owner": {owner: "0198-dead", memo: map[string]any{workflows.MemoEventID: "0198-dead"}},
		"no owner": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &failingOwner{owner: c.owner, scriptedStore: scriptedStore{persist: []error{errRejected}}}
			env, memo := rescueWith(t, "", store)
			require.ErrorContains(t, env.GetWorkflowError(), workflows.ErrorDeadLettered)
			require.Equal(t, c.memo, memo)
		})
	}
}
