package workflows

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/workflow"

	"holdfast/event"
	"holdfast/event/operation"
)

const (
	// sweepOverlap is how far a sweep looks back behind the one before: the list of runs is eventually consistent.
	sweepOverlap = 15 * time.Minute
	// firstSweep is how far the first one looks back.
	firstSweep = 7 * 24 * time.Hour
	// sweepOpenAfter is when an open run, or an unfinished event, deserves a look.
	sweepOpenAfter = 15 * time.Minute
	// sweepRows and sweepRowPages bound how many unfinished events one sweep looks at; the next goes on behind them.
	sweepRows     = 50
	sweepRowPages = 20
)

// SweepResult says what a sweep has found. The next one begins where it has ended.
type SweepResult struct {
	Until time.Time `json:"until"`
	// DeadLetters were recorded for runs that had ended from outside.
	DeadLetters int `json:"dead_letters"`

	operation.Unswept
	// UnfinishedAfter is the ID of the last unfinished event that it looked at; empty if it came to the end.
	UnfinishedAfter string `json:"unfinished_after,omitempty"`
	// Stuck are the open runs that somebody should look at, by reason.
	Stuck map[string]int `json:"stuck,omitempty"`
	// Released are dead letters whose redrive had no run, Woken the redrives that have not ended: each has a workflow now.
	Released int `json:"released"`
	Woken    int `json:"woken"`
}

// BegunSweep is how far a sweep has come that continues as new: the page that comes next, and what it has found.
type BegunSweep struct {
	Page   operation.SweepPage `json:"page"`
	Result SweepResult         `json:"result"`
}

// SweepRuns looks after what workflow code cannot: a run that is terminated or timed out never records its dead letter, one
// whose workflow task fails for ever never ends, a run that Temporal has lost leaves its event unfinished, and a replay that
// was killed between two steps leaves a dead letter that nobody works on.
func SweepRuns(ctx workflow.Context, begun *BegunSweep) (SweepResult, error) {
	if begun == nil { // the schedule has started it
		begun = &BegunSweep{}
		if err := begun.begin(ctx); err != nil {
			return begun.Result, err
		}
	}
	if err := begun.sweepClosed(ctx); err != nil {
		return begun.Result, err
	}
	result := begun.Result
	before := result.Until.Add(-sweepOpenAfter)
	if isVersioned(ctx, versionSweepUnfinished) {
		if err := sweepUnfinished(ctx, operation.RowPage{
			After: cmp.Or(result.UnfinishedAfter, event.FirstIDAt(time.Time{})), Before: event.FirstIDAt(before),
		}, &result); err != nil {
			return result, err
		}
	}
	if err := workflow.ExecuteActivity(withOperationLane(ctx, "open runs"), operate.SweepOpenRuns, before).
		Get(ctx, &result.Stuck); err != nil {
		return result, err
	}
	if err := workflow.ExecuteActivity(withOperationLane(ctx, "stale redrives"), operate.ReleaseRedrives).
		Get(ctx, &result.Released); err != nil {
		return result, err
	}
	err := workflow.ExecuteActivity(withOperationLane(ctx, "redrives"), operate.WakeRedrives).Get(ctx, &result.Woken)
	return result, err
}

// sweepSince is how far a sweep looks back: behind the end of the last one, and to what that has passed over, for a week. The
// cause may be gone by now, as when a payload key is there again.
func sweepSince(last SweepResult, now time.Time) time.Time {
	since, first := last.Until.Add(-sweepOverlap), now.Add(-firstSweep)
	switch {
	case last.Until.IsZero():
		return first
	case last.Count == 0 || last.Since.After(since) || first.After(since):
		return since
	case last.Since.Before(first):
		return first
	default:
		return last.Since
	}
}

// begin sets the first page. What the last sweep has found reaches only the first run of this one.
func (b *BegunSweep) begin(ctx workflow.Context) error {
	b.Result.Until = workflow.Now(ctx).UTC()
	var last SweepResult
	if workflow.HasLastCompletionResult(ctx) {
		if err := workflow.GetLastCompletionResult(ctx, &last); err != nil {
			return err
		}
	}
	b.Result.UnfinishedAfter = last.UnfinishedAfter
	b.Page = operation.SweepPage{Since: sweepSince(last, b.Result.Until), Until: b.Result.Until}
	return nil
}

// sweepClosed goes page by page, so that a mass termination is no single activity, and continues as new before its history grows
// too long.
func (b *BegunSweep) sweepClosed(ctx workflow.Context) error {
	for n := 1; ; n++ {
		var swept operation.SweptPage
		err := workflow.ExecuteActivity(withOperationLane(ctx, "closed runs"), operate.SweepClosedRuns, b.Page).Get(ctx, &swept)
		if err != nil {
			return err
		}
		b.Result.DeadLetters += swept.DeadLetters
		b.Result.Add(swept.Count, swept.Since)
		b.Page.Token = swept.Next
		if len(swept.Next) == 0 {
			return nil
		}
		if isLong(ctx, n) && isVersioned(ctx, versionContinueSweep) {
			return continueAsNew(ctx, TypeSweepRuns, b)
		}
	}
}

// sweepUnfinished looks at unfinished events, page by page.
func sweepUnfinished(ctx workflow.Context, page operation.RowPage, result *SweepResult) error {
	page.Limit, page.Ended = sweepRows, true
	for n := 1; ; n++ {
		var swept operation.SweptRows
		err := workflow.ExecuteActivity(withOperationLane(ctx, "unfinished events"), operate.SweepUnfinished, page).Get(ctx, &swept)
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
