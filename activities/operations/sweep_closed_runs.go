package operations

import (
	"context"
	"errors"
	"log/slog"

	"holdfast/activities"
	"holdfast/event"
)

// SweepClosedRuns records the dead letters of runs that were ended from outside, a page of them. It may run any number of
// times over the same runs. One that is in trouble keeps no other from its dead letter.
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
		switch {
		case ctx.Err() != nil:
			return swept, ctx.Err()
		case err != nil:
			swept.Add(1, run.ClosedAt)
			a.reportUnswept(ctx, run, err)
		case recorded:
			swept.DeadLetters++
		}
	}
	return swept, nil
}

// sweepClosedRun leaves a run alone that another run of its event has followed: it was reset, or started again, and the event is
// with that one. A later run of another event is none: somebody has reset an older run of the workflow.
func (a *Activities) sweepClosedRun(ctx context.Context, run event.ClosedRun) (recorded bool, err error) {
	latest, err := a.Starter.LatestRun(ctx, run.Run.WorkflowID)
	if err != nil {
		return false, err
	}
	isWith := func(eventID string) bool {
		return latest.Run.RunID != run.Run.RunID && eventID != "" && latest.EventID == eventID
	}
	if isWith(run.EventID) {
		return false, nil
	}
	d, err := a.Runs.DeadLetterOf(ctx, run)
	if err != nil || d == nil || isWith(d.Receipt.ID) {
		return false, err
	}
	var verdict *event.VerdictError
	if err := a.DeadLetters.RecordDeadLetter(ctx, *d); errors.As(err, &verdict) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	sweptDeadLetter(ctx, run.Status)
	slog.ErrorContext(ctx, "event.dead_lettered", "event_id", d.Receipt.ID, "provider", d.Receipt.Provider,
		"event_type", d.Receipt.Type, "outcome", "dead", "step", string(d.Failure.Step),
		"error_class", string(d.Failure.Class), "error_code", d.Failure.Code, "error", d.Failure.Message,
		"request_id", d.Receipt.RequestID, "correlation_id", d.Receipt.CorrelationID)
	return true, nil
}

// reportUnswept tells of a run whose event may be lost: acknowledged, not processed, and without a dead letter.
func (a *Activities) reportUnswept(ctx context.Context, run event.ClosedRun, err error) {
	class, code := activities.Classify(err)
	slog.ErrorContext(ctx, "sweep.run_failed", "workflow_id", run.Run.WorkflowID, "run_id", run.Run.RunID,
		"event_id", run.EventID, "status", run.Status, "error_class", string(class), "error_code", code, "error", err.Error())
	if a.Errors == nil {
		return
	}
	a.Errors.Record(event.ErrorEntry{
		Phase: event.PhaseUpkeep, Class: class, Code: code, Message: err.Error(), Alert: class != event.ClassTransient,
		Meta: map[string]string{
			"workflow_id": run.Run.WorkflowID, "run_id": run.Run.RunID, "event_id": run.EventID, "status": run.Status,
		},
	})
}
