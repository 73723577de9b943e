package workflows

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"holdfast/activities/background"
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
	// healFor is how long sweeps go on looking for lost events after they have noticed a setback: a run may end some time after
	// its transaction.
	healFor = 15 * time.Minute
)

// SweepResult is the result of a sweep. The next one starts where it ended.
type SweepResult struct {
	Until time.Time `json:"until"`
	// DeadLetters counts the dead letters recorded for runs that were terminated or timed out.
	DeadLetters int `json:"dead_letters"`

	// Deleted counts the dead letters recorded for acknowledged events whose runs were deleted.
	Deleted int `json:"deleted,omitempty"`

	operation.Unswept
	// UnfinishedAfter is the ID of the last checked unfinished event; empty if all were checked.
	UnfinishedAfter string `json:"unfinished_after,omitempty"`
	// Stuck counts stuck open runs by reason.
	Stuck map[string]int `json:"stuck,omitempty"`
	// Released counts dead letters whose replay had no run, Signaled open replays whose workflows were signaled.
	Released int `json:"released"`
	Signaled int `json:"woken"`

	// Mark is the mark that this sweep has left in both stores.
	Mark operation.Mark `json:"mark,omitzero"`
	// Setback is the setback that was noticed by this sweep, or by one shortly before it; Healed is what this one did about it.
	Setback operation.Setback `json:"setback,omitzero"`
	Healed  operation.Healed  `json:"healed,omitzero"`
}

// SweepState is the state of a sweep that continues as new.
type SweepState struct {
	Page   operation.SweepPage `json:"page"`
	Result SweepResult         `json:"result"`
	// Seen is the mark in the database, and Last the one in the result of the last sweep.
	Seen operation.Mark `json:"seen,omitzero"`
	Last operation.Mark `json:"last,omitzero"`
	// Noticed: this sweep is the first to notice the setback.
	Noticed bool `json:"noticed,omitempty"`
}

// SweepRuns handles runs that can't report their own state: terminated or timed-out runs without a dead letter, and runs whose
// workflow task keeps failing. It also repairs unfinished events whose run Temporal lost, dead letters of an interrupted
// replay, and what one of the stores lacks after it was set back, and reports acknowledged events whose run was deleted.
func SweepRuns(ctx workflow.Context, state *SweepState) (SweepResult, error) {
	if state == nil { // started by the schedule
		state = &SweepState{}
		if err := state.start(ctx); err != nil {
			return state.Result, err
		}
	}
	err := state.repair(ctx)
	if workflow.IsContinueAsNewError(err) || ctx.Err() != nil {
		return state.Result, err
	}
	if err = firstOrAll(append([]error{err}, state.sweepRest(ctx)...)); err != nil {
		return state.Result, err
	}
	err = workflow.ExecuteActivity(withOperationOptions(ctx, "mark"), operate.LeaveMark, state.Seen, state.Last).
		Get(ctx, &state.Result.Mark)
	return state.Result, err
}

// repair handles closed runs and unfinished events, and then what a setback has lost.
func (s *SweepState) repair(ctx workflow.Context) error {
	if err := s.sweepClosed(ctx); err != nil {
		return err
	}
	if err := s.sweepUnfinished(ctx); err != nil {
		return err
	}
	return s.heal(ctx)
}

// sweepRest checks acknowledged events, open runs, dead letters that are being replayed, and operations. None needs another: each
// runs although others failed.
func (s *SweepState) sweepRest(ctx workflow.Context) []error {
	result, before := &s.Result, s.Result.Until.Add(-sweepOpenAfter)
	return []error{
		workflow.ExecuteActivity(withOperationOptions(ctx, "accepted events"), operate.SweepAccepted).Get(ctx, &result.Deleted),
		workflow.ExecuteActivity(withOperationOptions(ctx, "open runs"), operate.SweepOpenRuns, before).Get(ctx, &result.Stuck),
		workflow.ExecuteActivity(withOperationOptions(ctx, "stale replays"), operate.ReleaseReplays).Get(ctx, &result.Released),
		workflow.ExecuteActivity(withOperationOptions(ctx, "replays"), operate.SignalReplays).Get(ctx, &result.Signaled),
	}
}

// firstOrAll returns the only error, with its type, or all of several.
func firstOrAll(failed []error) error {
	failed = slices.DeleteFunc(failed, func(err error) bool { return err == nil })
	if len(failed) == 1 {
		return failed[0]
	}
	return errors.Join(failed...)
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
	return s.compareMarks(ctx, last)
}

// compareMarks widens the sweep's time range if a store was set back. The sweeps after it go on looking for a while, and
// longer if they have skipped runs.
func (s *SweepState) compareMarks(ctx workflow.Context, last SweepResult) error {
	var compared background.MarkComparison
	err := workflow.ExecuteActivity(withOperationOptions(ctx, "marks"), operate.CompareMarks, last.Mark).Get(ctx, &compared)
	if err != nil {
		return err
	}
	s.Seen, s.Last = compared.Seen, last.Mark
	s.Page.Seen = s.Seen
	switch found := compared.Setback; {
	case !found.IsZero():
		s.Result.Setback, s.Noticed = found, true
		if since := found.Since.Add(-sweepOverlap); since.Before(s.Page.Since) {
			s.Page.Since = since
		}
	case !last.Setback.IsZero() && (s.Result.Until.Sub(last.Setback.NoticedAt) < healFor || last.Skipped > 0):
		s.Result.Setback = last.Setback
	default:
		return nil
	}
	s.Page.Restored, s.Page.MayBeDecided = true, s.Result.Setback.MayLackCommits()
	return nil
}

// heal processes again what the sweep has restored, and reports it.
func (s *SweepState) heal(ctx workflow.Context) error {
	if s.Result.Setback.IsZero() {
		return nil
	}
	if s.Noticed { // each sweep reports what can't be read; the setback's report counts it once
		s.Result.Healed.Unknown = s.Result.Skipped
	}
	order := background.HealOrder{
		Setback: s.Result.Setback, From: s.Result.Setback.Since.Add(-sweepOverlap), Healed: s.Result.Healed, First: s.Noticed,
	}
	return workflow.ExecuteActivity(withOperationOptions(ctx, "heal"), operate.Heal, order).Get(ctx, &s.Result.Healed)
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
		s.addHealed(swept.Healed)
		s.Page.Token = swept.Next
		if len(swept.Next) == 0 {
			return nil
		}
		if isLong(ctx, n) {
			return continueAsNew(ctx, TypeSweepRuns, s)
		}
	}
}

// addHealed counts what a page has restored, if the sweep heals a setback.
func (s *SweepState) addHealed(h operation.Healed) {
	if !s.Result.Setback.IsZero() {
		s.Result.Healed = s.Result.Healed.With(h)
	}
}

// sweepUnfinished handles stored events whose run Temporal no longer has. After a setback it starts at the first event,
// includes the latest ones, and checks more pages.
func (s *SweepState) sweepUnfinished(ctx workflow.Context) error {
	page := operation.RowPage{
		After:  cmp.Or(s.Result.UnfinishedAfter, event.FirstIDAt(time.Time{})),
		Before: event.FirstIDAt(s.Result.Until.Add(-sweepOpenAfter)), Limit: sweepRows, Ended: true, Seen: s.Seen,
	}
	pages := sweepRowPages
	if !s.Result.Setback.IsZero() {
		page.After, page.Before = event.FirstIDAt(time.Time{}), event.FirstIDAt(s.Result.Until)
		page.MayBeDecided, pages = s.Page.MayBeDecided, operationPages
	}
	for n := 1; ; n++ {
		var swept operation.SweptRows
		err := workflow.ExecuteActivity(withOperationOptions(ctx, "unfinished events"), operate.SweepUnfinished, page).Get(ctx, &swept)
		if err != nil {
			return err
		}
		s.Result.DeadLetters += swept.DeadLetters
		s.addHealed(swept.Healed)
		if s.Result.UnfinishedAfter = swept.Last; swept.Last == "" || n >= pages {
			return nil
		}
		page.After = swept.Last
	}
}
