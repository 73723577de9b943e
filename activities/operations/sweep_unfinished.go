package operations

import (
	"context"

	"holdfast/activities"
	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/reconcile"
)

// SweepUnfinished records the dead letters of events that are stored, not processed, and that no open run works on: Temporal has
// lost or deleted their runs. It looks at one page. An event that can't be judged keeps no other from its dead letter.
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
	if event.ClassOf(err) == event.ClassRejected { // the wrong namespace, or an empty one: the next sweep looks again
		a.reportUnswept(ctx, operation.ClosedRun{}, err)
		return operation.SweptRows{}, nil
	}
	return swept, err
}

// sweptEvents compares, and records dead letters.
type sweptEvents struct {
	SweepStore
	activities.DeadLetterStore
}
