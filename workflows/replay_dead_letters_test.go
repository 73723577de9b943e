package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"holdfast/activities/background"
	"holdfast/event/operation"
	"holdfast/workflows"
)

// operation is an environment whose activities a test stands in for.
func pagedOperation(t *testing.T) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(30 * time.Second)
	workflows.Register(env)
	env.RegisterActivity(&background.Activities{})
	return env
}

// sweep is pagedOperation with marks that agree.
func sweep(t *testing.T) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	env, mark := pagedOperation(t), operation.Mark{Counter: 1, Identity: "one"}
	env.OnActivity("CompareMarks", mock.Anything, mock.Anything).Return(background.MarkComparison{Seen: mark}, nil).Maybe()
	env.OnActivity("LeaveMark", mock.Anything, mock.Anything, mock.Anything).Return(mark, nil).Maybe()
	return env
}

func turn(state operation.State, drained, settled bool) operation.ReplayProgress {
	return operation.ReplayProgress{Replay: operation.Replay{Base: operation.Base{ID: "one", State: state}}, Drained: drained, Settled: settled}
}

// A replay has nothing left to start, and two of its runs are open for a while:
//   - it looks every five seconds and completes with the counts of its row
func TestReplayDeadLetters_waitsForItsRuns(t *testing.T) {
	env := pagedOperation(t)
	env.OnActivity("ReplayPage", mock.Anything, "one").Return(turn(operation.Running, true, false), nil).Times(3)
	env.OnActivity("ReplayPage", mock.Anything, "one").Return(turn(operation.Completed, true, true), nil).Once()
	start := env.Now()
	env.ExecuteWorkflow(workflows.TypeReplayDeadLetters, "one")
	require.True(t, env.IsWorkflowCompleted())
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 15*time.Second, env.Now().Sub(start).Round(time.Second))
	var r operation.Replay
	require.NoError(t, env.GetWorkflowResult(&r))
	require.Equal(t, operation.Completed, r.State)
	env.AssertExpectations(t)
}

// A replay is paused:
//   - it looks once a minute, and at once when a signal comes
func TestReplayDeadLetters_looksAtASignal(t *testing.T) {
	env := pagedOperation(t)
	env.OnActivity("ReplayPage", mock.Anything, "one").Return(turn(operation.Paused, false, false), nil).Twice()
	env.OnActivity("ReplayPage", mock.Anything, "one").Return(turn(operation.Canceled, false, true), nil).Once()
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(workflows.OperationSignal(operation.KindReplay), nil) }, 70*time.Second)
	start := env.Now()
	env.ExecuteWorkflow(workflows.TypeReplayDeadLetters, "one")
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 70*time.Second, env.Now().Sub(start).Round(time.Second))
	env.AssertExpectations(t)
}

// A replay is long:
//   - after 300 turns it continues as new, for the same row
func TestReplayDeadLetters_continuesAsNew(t *testing.T) {
	env := pagedOperation(t)
	env.OnActivity("ReplayPage", mock.Anything, "one").Return(turn(operation.Running, false, false), nil).Times(300)
	env.ExecuteWorkflow(workflows.TypeReplayDeadLetters, "one")
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &again)
	require.Equal(t, workflows.TypeReplayDeadLetters, again.WorkflowType.Name)
	env.AssertExpectations(t)
}

// Its workflow is canceled in Temporal:
//   - so is the replay
func TestReplayDeadLetters_canBeCanceledInTemporal(t *testing.T) {
	env := pagedOperation(t)
	env.OnActivity("ReplayPage", mock.Anything, "one").Return(turn(operation.Paused, false, false), nil)
	env.OnActivity("CancelReplay", mock.Anything, "one").Return(nil).Once()
	env.RegisterDelayedCallback(env.CancelWorkflow, 10*time.Second)
	env.ExecuteWorkflow(workflows.TypeReplayDeadLetters, "one")
	require.True(t, temporal.IsCanceledError(env.GetWorkflowError()))
	env.AssertExpectations(t)
}

// Its workflow is canceled in Temporal just before it would continue as new:
//   - in the pause after its last turn, the replay is canceled as in any other pause
//   - so it is before its first turn
func TestReplayDeadLetters_isCanceledBeforeItContinuesAsNew(t *testing.T) {
	for name, c := range map[string]struct {
		turns int
		after time.Duration
	}{
		"after the last turn":   {turns: 300, after: 300*time.Minute - 30*time.Second},
		"before the first turn": {},
	} {
		t.Run(name, func(t *testing.T) {
			env := pagedOperation(t)
			env.SetContinueAsNewSuggested(c.turns == 0)
			env.OnActivity("ReplayPage", mock.Anything, "one").Return(turn(operation.Paused, false, false), nil).Maybe().Times(c.turns)
			env.OnActivity("CancelReplay", mock.Anything, "one").Return(nil).Once()
			env.RegisterDelayedCallback(env.CancelWorkflow, c.after)
			env.ExecuteWorkflow(workflows.TypeReplayDeadLetters, "one")
			require.True(t, temporal.IsCanceledError(env.GetWorkflowError()), "%v", env.GetWorkflowError())
			env.AssertActivityNumberOfCalls(t, "ReplayPage", c.turns)
			env.AssertExpectations(t)
		})
	}
}

// Something is due, then as many runs are open as may be, then nothing is due any more:
//   - it adds up what it has done
func TestReplayDue_worksUntilNothingIsDue(t *testing.T) {
	env := pagedOperation(t)
	env.OnActivity("ReplayDue", mock.Anything).Return(operation.DueProgress{Planned: 3, Started: 20, Exhausted: 1}, nil).Once()
	env.OnActivity("ReplayDue", mock.Anything).Return(operation.DueProgress{}, nil).Once()
	env.OnActivity("ReplayDue", mock.Anything).Return(operation.DueProgress{Started: 2, Drained: true}, nil).Once()
	env.ExecuteWorkflow(workflows.TypeReplayDue)
	require.NoError(t, env.GetWorkflowError())
	var result workflows.ReplayDueResult
	require.NoError(t, env.GetWorkflowResult(&result))
	require.Equal(t, workflows.ReplayDueResult{Started: 22, Planned: 3, Exhausted: 1}, result)
	env.AssertExpectations(t)
}

// A sweep after another one:
//   - it looks back to 15 minutes before the end of that one, page by page
//   - to what that one had to pass over, where that is longer ago, for a week at most
//   - the first one ever looks back a week
func TestSweepRuns_beginsWhereTheLastHasEnded(t *testing.T) {
	const week = 7 * 24 * time.Hour
	ago := func(d time.Duration) operation.Unswept {
		return operation.Unswept{Skipped: 1, SkippedSince: time.Now().Add(-d)}
	}
	for name, c := range map[string]struct {
		last  time.Duration // ago; 0: there was none
		over  operation.Unswept
		since time.Duration // ago
	}{
		"the first":                      {since: week},
		"a later":                        {last: time.Hour, since: time.Hour + 15*time.Minute},
		"long after the last":            {last: 2 * week, since: 2*week + 15*time.Minute},
		"runs were passed over":          {last: time.Hour, over: ago(3 * time.Hour), since: 3 * time.Hour},
		"runs of just now":               {last: time.Hour, over: ago(time.Hour), since: time.Hour + 15*time.Minute},
		"runs of more than a week ago":   {last: time.Hour, over: ago(2 * week), since: week},
		"the last one was long ago, too": {last: 2 * week, over: ago(3 * week), since: 2*week + 15*time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			env := sweep(t)
			now := time.Now()
			env.SetStartTime(now)
			since := now.Add(-c.since)
			if c.last > 0 {
				env.SetLastCompletionResult(workflows.SweepResult{Until: now.Add(-c.last), Unswept: c.over})
			}
			env.OnActivity("SweepClosedRuns", mock.Anything, mock.MatchedBy(func(p operation.SweepPage) bool {
				return len(p.Token) == 0 && p.Since.Sub(since).Abs() < time.Minute // the cases differ by more
			})).Return(operation.SweptPage{DeadLetters: 2, Next: []byte("next"), Unswept: operation.Unswept{Skipped: 1, SkippedSince: now}}, nil).Once()
			env.OnActivity("SweepClosedRuns", mock.Anything, mock.MatchedBy(func(p operation.SweepPage) bool {
				return string(p.Token) == "next"
			})).Return(operation.SweptPage{DeadLetters: 1, Unswept: operation.Unswept{Skipped: 2, SkippedSince: since}}, nil).Once()
			env.OnActivity("SweepUnfinished", mock.Anything, mock.Anything).Return(operation.SweptRows{}, nil).Once()
			env.OnActivity("SweepAccepted", mock.Anything).Return(2, nil).Once()
			env.OnActivity("SweepOpenRuns", mock.Anything, mock.Anything).Return(map[string]int{"slow": 1}, nil).Once()
			env.OnActivity("ReleaseReplays", mock.Anything).Return(4, nil).Once()
			env.OnActivity("SignalReplays", mock.Anything).Return(0, nil).Once()
			env.ExecuteWorkflow(workflows.TypeSweepRuns)
			require.NoError(t, env.GetWorkflowError())
			var result workflows.SweepResult
			require.NoError(t, env.GetWorkflowResult(&result))
			require.Equal(t, 3, result.DeadLetters)
			require.Equal(t, 4, result.Released)
			require.Equal(t, 3, result.Skipped)
			require.WithinDuration(t, since, result.SkippedSince, time.Second)
			require.Equal(t, map[string]int{"slow": 1}, result.Stuck)
			env.AssertExpectations(t)
		})
	}
}

// More runs have ended than one history should hold:
//   - the sweep continues as new after 300 pages, and earlier if the server suggests it
//   - the next run goes on behind the last page, adds to what the first one has found, and looks for nothing twice
func TestSweepRuns_continuesAsNew(t *testing.T) {
	for name, pages := range map[string]int{"after 300 pages": 300, "when it is suggested": 1} {
		t.Run(name, func(t *testing.T) {
			env := sweep(t)
			env.SetContinueAsNewSuggested(pages == 1)
			env.SetLastCompletionResult(workflows.SweepResult{Until: env.Now().Add(-time.Hour)})
			env.OnActivity("SweepClosedRuns", mock.Anything, mock.Anything).Return(
				operation.SweptPage{DeadLetters: 1, Next: []byte("next")}, nil).Times(pages)
			env.ExecuteWorkflow(workflows.TypeSweepRuns)
			env.AssertExpectations(t)
			var again *workflow.ContinueAsNewError
			require.ErrorAs(t, env.GetWorkflowError(), &again)
			var state workflows.SweepState
			require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(again.Input, &state))
			require.Equal(t, "next", string(state.Page.Token))

			env = sweep(t)
			env.OnActivity("SweepClosedRuns", mock.Anything, state.Page).Return(operation.SweptPage{DeadLetters: 2}, nil).Once()
			env.OnActivity("SweepUnfinished", mock.Anything, mock.Anything).Return(operation.SweptRows{}, nil).Once()
			env.OnActivity("SweepAccepted", mock.Anything).Return(0, nil)
			env.OnActivity("SweepOpenRuns", mock.Anything, state.Result.Until.Add(-15*time.Minute)).Return(map[string]int{}, nil).Once()
			env.OnActivity("ReleaseReplays", mock.Anything).Return(0, nil).Once()
			env.OnActivity("SignalReplays", mock.Anything).Return(0, nil).Once()
			env.ExecuteWorkflow(again.WorkflowType.Name, &state)
			require.NoError(t, env.GetWorkflowError())
			var result workflows.SweepResult
			require.NoError(t, env.GetWorkflowResult(&result))
			require.Equal(t, pages+2, result.DeadLetters)
			require.Equal(t, state.Page.Until, result.Until)
			env.AssertExpectations(t)
		})
	}
}

// More events are unfinished than one sweep checks: it starts where the last one ended, checks twenty pages, and returns where
// the next starts. After the last page the next one starts again.
func TestSweepRuns_goesOnBehindTheLastUnfinishedEvent(t *testing.T) {
	for last, wantPages := range map[string]int{"": 1, "page": 20} {
		env := sweep(t)
		env.SetLastCompletionResult(workflows.SweepResult{Until: time.Now().Add(-time.Hour), UnfinishedAfter: "before"})
		env.OnActivity("SweepClosedRuns", mock.Anything, mock.Anything).Return(operation.SweptPage{}, nil)
		var after []string
		env.OnActivity("SweepUnfinished", mock.Anything, mock.MatchedBy(func(p operation.RowPage) bool { return p.Ended })).
			Return(func(_ context.Context, p operation.RowPage) (operation.SweptRows, error) {
				after = append(after, p.After)
				return operation.SweptRows{DeadLetters: 1, Last: last}, nil
			})
		env.OnActivity("SweepAccepted", mock.Anything).Return(0, nil)
		env.OnActivity("SweepOpenRuns", mock.Anything, mock.Anything).Return(map[string]int{}, nil)
		env.OnActivity("ReleaseReplays", mock.Anything).Return(0, nil)
		env.OnActivity("SignalReplays", mock.Anything).Return(0, nil)
		env.ExecuteWorkflow(workflows.TypeSweepRuns)
		require.NoError(t, env.GetWorkflowError())
		var result workflows.SweepResult
		require.NoError(t, env.GetWorkflowResult(&result))
		require.Len(t, after, wantPages)
		require.Equal(t, "before", after[0])
		require.Equal(t, last, result.UnfinishedAfter)
		require.Equal(t, wantPages, result.DeadLetters)
	}
}
