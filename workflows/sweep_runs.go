package workflows

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/workflow"

	"holdfast/event"
	"holdfast/event/operation"
)

const (
	// sweepOverlap is the overlap of two sweeps: the list of runs is eventually consistent.
	sweepOverlap = 15 * time.Minute
	// firstSweep is the time range of the first sweep.
	firstSweep = 7 * 24 * time.Hour
	// sweepOpenAfter is the age from which open runs and unfinished events are checked.
	sweepOpenAfter = 15 * time.Minute
	// sweepRows and sweepRowPages bound the unfinished events of one sweep; the next one continues.
	sweepRows     = 50
	sweepRowPages = 20
)

// SweepResult is the result of a sweep. The next one starts where it ended.
type SweepResult struct {
	Until time.Time `json:"until"`
	// DeadLetters counts the dead letters recorded for runs that were terminated or timed out.
	DeadLetters int `json:"dead_letters"`

	operation.Unswept
	// UnfinishedAfter is the ID of the last checked unfinished event; empty if all were checked.
	UnfinishedAfter string `json:"unfinished_after,omitempty"`
	// Stuck counts stuck open runs by reason.
	Stuck map[string]int `json:"stuck,omitempty"`
	// Released counts dead letters whose redrive had no run, Signaled open redrives whose workflows were signaled.
	Released int `json:"released"`
	Signaled int `json:"woken"`
}

// SweepState is the state of a sweep that continues as new.
type SweepState struct {
	Page   operation.SweepPage `json:"page"`
	Result SweepResult         `json:"result"`
}

// SweepRuns handles runs that can't report their own state: terminated or timed-out runs without a dead letter, and runs whose
// workflow task keeps failing. It also repairs unfinished events whose run Temporal lost, and dead letters of an interrupted
// replay.
func SweepRuns(ctx workflow.Context, state *SweepState) (SweepResult, error) {
	if state == nil { // started by the schedule
		state = &SweepState{}
		if err := state.start(ctx); err != nil {
			return state.Result, err
		}
	}
	if err := state.sweepClosed(ctx); err != nil {
		return state.Result, err
	}
	result := state.Result
	before := result.Until.Add(-sweepOpenAfter)
	if hasChange(ctx, versionSweepUnfinished) {
		if err := sweepUnfinished(ctx, operation.RowPage{
			After: cmp.Or(result.UnfinishedAfter, event.FirstIDAt(time.Time{})), Before: event.FirstIDAt(before),
		}, &result); err != nil {
			return result, err
		}
	}
	if err := workflow.ExecuteActivity(withOperationOptions(ctx, "open runs"), operate.SweepOpenRuns, before).
		Get(ctx, &result.Stuck); err != nil {
		return result, err
	}
	if err := workflow.ExecuteActivity(withOperationOptions(ctx, "stale redrives"), operate.ReleaseRedrives).
		Get(ctx, &result.Released); err != nil {
		return result, err
	}
	err := workflow.ExecuteActivity(withOperationOptions(ctx, "redrives"), named(ctx, operate.SignalRedrives, former.WakeRedrives)).
		Get(ctx, &result.Signaled)
	return result, err
}

// sweepSince returns the start of a sweep's time range: sweepOverlap before the end of the last sweep, or earlier if that one
// skipped runs, up to a week back: what made it skip them, such as a missing payload key, may have been fixed since.
func sweepSince(last SweepResult, now time.Time) time.Time {
	since, first := last.Until.Add(-sweepOverlap), now.Add(-firstSweep)
	switch {
	case last.Until.IsZero():
		return first
	case last.Skipped == 0 || last.SkippedSince.After(since) || first.After(since):
		return since
	case last.SkippedSince.Before(first):
		return first
	default:
		return last.SkippedSince
	}
}

// start sets the first page. Only the first run of a sweep gets the result of the last sweep.
func (s *SweepState) start(ctx workflow.Context) error {
	s.Result.Until = workflow.Now(ctx).UTC()
	var last SweepResult
	if workflow.HasLastCompletionResult(ctx) {
		if err := workflow.GetLastCompletionResult(ctx, &last); err != nil {
			return err
		}
	}
	s.Result.UnfinishedAfter = last.UnfinishedAfter
	s.Page = operation.SweepPage{Since: sweepSince(last, s.Result.Until), Until: s.Result.Until}
	return nil
}

// sweepClosed handles closed runs page by page, so that a mass termination doesn't overload one activity, and continues as new
// before its history grows too long.
func (s *SweepState) sweepClosed(ctx workflow.Context) error {
	for n := 1; ; n++ {
		var swept operation.SweptPage
		err := workflow.ExecuteActivity(withOperationOptions(ctx, "closed runs"), operate.SweepClosedRuns, s.Page).Get(ctx, &swept)
		if err != nil {
			return err
		}
		s.Result.DeadLetters += swept.DeadLetters
		s.Result.Add(swept.Skipped, swept.SkippedSince)
		s.Page.Token = swept.Next
		if len(swept.Next) == 0 {
			return nil
		}
		if isLong(ctx, n) && hasChange(ctx, versionContinueSweep) {
			return continueAsNew(ctx, TypeSweepRuns, s)
		}
	}
}

func sweepUnfinished(ctx workflow.Context, page operation.RowPage, result *SweepResult) error {
	page.Limit, page.Ended = sweepRows, true
	for n := 1; ; n++ {
		var swept operation.SweptRows
		err := workflow.ExecuteActivity(withOperationOptions(ctx, "unfinished events"), operate.SweepUnfinished, page).Get(ctx, &swept)
		if err != nil {
			return err
		}
		result.DeadLetters += swept.DeadLetters
		if result.UnfinishedAfter = swept.Last; swept.Last == "" || n == sweepRowPages {
			return nil
		}
		page.After = swept.Last
	}
}
