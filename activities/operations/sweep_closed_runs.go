package operations

import (
	"context"
	"log/slog"
	"time"

	"holdfast/activities"
	"holdfast/activities/reconcile"
	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
)

// SweepClosedRuns records the dead letters of a page of runs that were ended from outside. It can be repeated for the same
// runs. A run that can't be read doesn't block the others.
func (a *Activities) SweepClosedRuns(ctx context.Context, page operation.SweepPage) (operation.SweptPage, error) {
	var swept operation.SweptPage
	compare := reconcile.Service{Runs: a.Runs, Events: sweptEvents{a.Sweeps, a.DeadLetters}}
	next, err := compare.ClosedRuns(ctx, page, func(run operation.ClosedRun, d *event.DeadLetter, err error) {
		if err != nil {
			swept.Add(1, run.ClosedAt)
			a.reportUnswept(ctx, run, err)
			return
		}
		swept.DeadLetters++
		reportSwept(ctx, run.Status, d)
	})
	swept.Next = next
	return swept, err
}

func reportSwept(ctx context.Context, status string, d *event.DeadLetter) {
	sweptDeadLetter(ctx, status)
	event.LogDeadLetter(event.ContextLogger{Context: ctx}, d.Receipt, d.Failure, time.Since(d.Receipt.ReceivedAt))
}

// reportUnswept reports a run whose event may be lost: acknowledged, unprocessed, and without a dead letter.
func (a *Activities) reportUnswept(ctx context.Context, run operation.ClosedRun, err error) {
	class, code := activities.Classify(err)
	slog.ErrorContext(ctx, "sweep.run_failed", "workflow_id", run.Run.WorkflowID, "run_id", run.Run.RunID,
		"event_id", run.EventID, "status", run.Status, "error_class", string(class), "error_code", code, "error", err.Error())
	if a.Errors == nil {
		return
	}
	a.Errors.Record(oversight.ErrorEntry{
		Phase: event.PhaseUpkeep, Class: class, Code: code, Message: err.Error(), Alert: class != event.ClassTransient,
		Meta: map[string]string{
			"workflow_id": run.Run.WorkflowID, "run_id": run.Run.RunID, "event_id": run.EventID, "status": run.Status,
		},
	})
}
