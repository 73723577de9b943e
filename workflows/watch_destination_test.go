package workflows_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"holdfast/activities/background"
	"holdfast/delivery"
	"holdfast/event"
	"holdfast/workflows"
)

// inTrouble is an environment of a destination whose trouble has lasted for two minutes when its workflow begins. What people are
// told is kept, by how long the trouble had lasted.
type inTrouble struct {
	*testsuite.TestWorkflowEnvironment

	since time.Time
	told  []string
	text  string // the last notification

	mu    sync.Mutex // the test environment runs activities side by side with callbacks
	check background.DestinationCheck
}

func newTrouble(t *testing.T, disableAfter time.Duration) *inTrouble {
	t.Helper()
	env := &inTrouble{TestWorkflowEnvironment: pagedOperation(t)}
	now := time.Date(2026, 11, 22, 12, 2, 0, 0, time.UTC)
	env.SetStartTime(now)
	env.since = now.Add(-2 * time.Minute)
	env.check = background.DestinationCheck{
		Condition: delivery.Condition{
			State: delivery.DestinationReady, StateAt: env.since.Add(-time.Hour), FailingSince: &env.since, Failure: "503",
		},
		DisableAfter: event.Duration(disableAfter),
	}
	env.OnActivity("CheckDestination", mock.Anything, int64(7)).Return(
		func(_ context.Context, _ int64) (background.DestinationCheck, error) {
			env.mu.Lock()
			defer env.mu.Unlock()
			return env.check, nil
		})
	env.OnActivity("NotifyAboutDestination", mock.Anything, mock.Anything).Return(func(
		_ context.Context, n background.DestinationNotification,
	) error {
		env.told = append(env.told, n.Code+" "+env.Now().Sub(env.since).Round(time.Minute).String())
		env.text = n.Text
		return nil
	}).Maybe()
	return env
}

// after changes what the next looks find.
func (env *inTrouble) after(d time.Duration, change func(*delivery.Condition)) {
	env.RegisterDelayedCallback(func() {
		env.mu.Lock()
		defer env.mu.Unlock()
		change(&env.check.Condition)
	}, d)
}

func (env *inTrouble) run(t *testing.T) (result workflows.WatchResult) {
	t.Helper()
	env.ExecuteWorkflow(workflows.TypeDestinationFailing, workflows.FailingDestination{DestinationID: 7, Destination: "crm"})
	require.NoError(t, env.GetWorkflowError())
	require.NoError(t, env.GetWorkflowResult(&result))
	return result
}

// A destination is down permanently:
//   - operators are notified at once, after an hour, and before the destination is disabled
//   - they are notified that it is disabled, which the check has done, and the workflow ends
func TestWatchDestination_climbsToItsEnd(t *testing.T) {
	env := newTrouble(t, 12*time.Hour)
	env.after(12*time.Hour-2*time.Minute, func(c *delivery.Condition) {
		c.State, c.By = delivery.DestinationDisabled, background.SystemActor
	})
	require.Equal(t, "disabled", env.run(t).Outcome)
	require.Equal(t, []string{
		"destination_failing 2m0s", "destination_still_failing 1h0m0s", "destination_disabled_soon 6h0m0s", "destination_disabled 12h0m0s",
	}, env.told)
}

// A destination recovers after ten minutes:
//   - a notification says so, because the failure was reported
func TestWatchDestination_recovers(t *testing.T) {
	env := newTrouble(t, 120*time.Hour)
	env.after(8*time.Minute, func(c *delivery.Condition) { c.FailingSince = nil })
	require.Equal(t, "recovered", env.run(t).Outcome)
	require.Equal(t, []string{"destination_failing 2m0s", "destination_recovered 10m0s"}, env.told)
}

// An operator pauses a failing destination, and its last attempt in flight succeeds:
//   - the outcome is recovered, not resumed
//   - the notification says so, and that it is still paused
func TestWatchDestination_recoversWhilePaused(t *testing.T) {
	env := newTrouble(t, 120*time.Hour)
	env.after(8*time.Minute, func(c *delivery.Condition) {
		c.State, c.StateAt, c.By, c.FailingSince = delivery.DestinationPaused, env.since.Add(9*time.Minute), "ada", nil
	})
	require.Equal(t, "recovered", env.run(t).Outcome)
	require.Equal(t, []string{"destination_failing 2m0s", "destination_recovered 10m0s"}, env.told)
	require.Equal(t, "destination crm accepts deliveries again but is still paused; 0 deliveries pending", env.text)
}

// An operator disables a destination, resumes or deletes it:
//   - no notification is sent, since the operator did it
func TestWatchDestination_endsWithAnOperatorsAction(t *testing.T) {
	for outcome, change := range map[string]func(*inTrouble){
		"disabled": func(env *inTrouble) {
			env.check.Condition.State, env.check.Condition.By = delivery.DestinationDisabled, "ada"
		},
		"resumed": func(env *inTrouble) {
			env.check.Condition.FailingSince, env.check.Condition.StateAt = nil, env.since.Add(time.Minute)
		},
		"deleted": func(env *inTrouble) { env.check = background.DestinationCheck{Deleted: true} },
	} {
		t.Run(outcome, func(t *testing.T) {
			env := newTrouble(t, 120*time.Hour)
			env.RegisterDelayedCallback(func() {
				env.mu.Lock()
				defer env.mu.Unlock()
				change(env)
			}, 5*time.Minute)
			require.Equal(t, outcome, env.run(t).Outcome)
			require.Equal(t, []string{"destination_failing 2m0s"}, env.told)
		})
	}
}

// An operator pauses the destination by an update, and resumes it after a day:
//   - the update does the same as the API, and the workflow checks the destination immediately
//   - while it is paused no notification is sent
//   - an update without a name is rejected and has no effect
func TestWatchDestination_takesOrders(t *testing.T) {
	env := newTrouble(t, 120*time.Hour)
	env.OnActivity("UpdateDestination", mock.Anything, mock.Anything).Return(
		func(_ context.Context, c background.DestinationUpdate) (delivery.Condition, error) {
			env.mu.Lock()
			defer env.mu.Unlock()
			env.check.Condition.State, env.check.Condition.By = c.To, c.By
			env.check.Condition.StateAt = env.Now()
			if c.To == delivery.DestinationReady {
				env.check.Condition.FailingSince = nil
			}
			return env.check.Condition, nil
		}).Twice()
	answers := map[string]string{}
	order := func(name string, after time.Duration, o workflows.WatchUpdate) {
		env.RegisterDelayedCallback(func() {
			env.UpdateWorkflow(name, name, &testsuite.TestUpdateCallback{
				OnAccept:   func() {},
				OnReject:   func(error) { answers[name] = "refused" },
				OnComplete: func(any, error) { answers[name] = "done" },
			}, o)
		}, after)
	}
	order(workflows.UpdateProbe, time.Minute, workflows.WatchUpdate{})
	order(workflows.UpdatePause, 2*time.Minute, workflows.WatchUpdate{By: "ada", Reason: "maintenance"})
	order(workflows.UpdateResume, 20*time.Hour, workflows.WatchUpdate{By: "ada"})
	start := env.Now()
	require.Equal(t, "resumed", env.run(t).Outcome)
	require.Equal(t, 20*time.Hour, env.Now().Sub(start).Round(time.Minute))
	require.Equal(t, map[string]string{"probe": "refused", "pause": "done", "resume": "done"}, answers)
	require.Equal(t, []string{"destination_failing 2m0s"}, env.told)
}

// The workflow is canceled just before it would continue as new:
//   - it ends as canceled
func TestWatchDestination_isCanceledBeforeItContinuesAsNew(t *testing.T) {
	env := pagedOperation(t)
	env.SetContinueAsNewSuggested(true)
	env.RegisterDelayedCallback(env.CancelWorkflow, 0)
	env.ExecuteWorkflow(workflows.TypeDestinationFailing, workflows.FailingDestination{DestinationID: 7, Destination: "crm"})
	require.True(t, temporal.IsCanceledError(env.GetWorkflowError()), "%v", env.GetWorkflowError())
}

// An operator requests an impossible change, since the destination has recovered or was deleted:
//   - the response says so after one attempt
//   - the workflow checks the destination immediately, and ends
func TestWatchDestination_answersAnOrderThatCannotBeDone(t *testing.T) {
	env := newTrouble(t, 120*time.Hour)
	env.OnActivity("UpdateDestination", mock.Anything, mock.Anything).Return(
		delivery.Condition{}, temporal.NewApplicationError("not found", string(event.ClassFailed))).Once()
	env.after(2*time.Minute+10*time.Second, func(c *delivery.Condition) { c.FailingSince = nil })
	var answer error
	env.RegisterDelayedCallback(func() {
		env.UpdateWorkflow(workflows.UpdateProbe, "probe", &testsuite.TestUpdateCallback{
			OnAccept:   func() {},
			OnReject:   func(err error) { require.NoError(t, err) },
			OnComplete: func(_ any, err error) { answer = err },
		}, workflows.WatchUpdate{By: "ada"})
	}, 2*time.Minute+20*time.Second)
	require.Equal(t, "recovered", env.run(t).Outcome)
	require.ErrorContains(t, answer, "not found")
	env.AssertActivityNumberOfCalls(t, "UpdateDestination", 1)
}
