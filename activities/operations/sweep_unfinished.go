package operations

import (
	"context"

	"holdfast/activities"
	"holdfast/activities/reconcile"
	"holdfast/event"
	"holdfast/event/operation"
)

// SweepUnfinished records the dead letters of events that are stored, unprocessed and without an open run: Temporal has lost or
// deleted their runs. It processes one page. An event that can't be judged doesn't block the others.
func (a *Activities) SweepUnfinished(ctx context.Context, page operation.RowPage) (swept operation.SweptRows, err error) {
	compare := reconcile.Service{Runs: a.Runs, Events: sweptEvents{a.Sweeps, a.DeadLetters}, Rows: a.Sweeps}
	swept.Last, err = compare.Unfinished(ctx, page, func(run operation.ClosedRun, d *event.DeadLetter, err error) {
		if err != nil {
			a.reportUnswept(ctx, run, err)
			return
		}
		swept.DeadLetters++
		reportSwept(ctx, d.Failure.Code, d)
	})
	if event.ClassOf(err) == event.ClassRejected { // the wrong or an empty namespace: the next sweep retries
		a.reportUnswept(ctx, operation.ClosedRun{}, err)
		return operation.SweptRows{}, nil
	}
	return swept, err
}

// sweptEvents compares events with their runs, and records dead letters.
type sweptEvents struct {
	SweepStore
	activities.DeadLetterStore
}
