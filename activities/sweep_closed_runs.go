package activities

import (
	"context"
	"log/slog"

	"holdfast/event"
)

// SweepClosedRuns records the dead letters of runs that were ended from outside, a page of them. It may run any number of
// times over the same runs.
func (a *Activities) SweepClosedRuns(ctx context.Context, page event.SweepPage) (event.SweptPage, error) {
	runs, next, err := a.Runs.ClosedRuns(ctx, page)
	if err != nil {
		return event.SweptPage{}, err
	}
	if runs, err = a.Sweeps.Unrecorded(ctx, runs); err != nil {
		return event.SweptPage{}, err
	}
	swept := event.SweptPage{Next: next}
	for _, run := range runs {
		recorded, err := a.sweepClosedRun(ctx, run)
		if err != nil {
			return swept, err
		}
		if recorded {
			swept.DeadLetters++
		}
	}
	return swept, nil
}

// sweepClosedRun leaves a run alone that is not the latest of its workflow: it was reset, or started again, and the event is
// with the later run.
func (a *Activities) sweepClosedRun(ctx context.Context, run event.ClosedRun) (recorded bool, err error) {
	latest, err := a.Starter.LatestRun(ctx, run.Run.WorkflowID)
	if err != nil || latest.Run.RunID != run.Run.RunID {
		return false, err
	}
	d, err := a.Runs.DeadLetterOf(ctx, run)
	if err != nil || d == nil {
		return false, err
	}
	if err := a.DeadLetters.RecordDeadLetter(ctx, *d); err != nil {
		return false, err
	}
	sweptDeadLetter(ctx, run.Status)
	slog.ErrorContext(ctx, "event.dead_lettered", "event_id", d.Receipt.ID, "provider", d.Receipt.Provider,
		"event_type", d.Receipt.Type, "outcome", "dead", "step", string(d.Failure.Step),
		"error_class", string(d.Failure.Class), "error_code", d.Failure.Code, "error", d.Failure.Message,
		"request_id", d.Receipt.RequestID, "correlation_id", d.Receipt.CorrelationID)
	return true, nil
}
