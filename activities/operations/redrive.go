package operations

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"

	"holdfast/activities"
	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
)

// RunStarter starts runs. Only its implementation uses Temporal's client.
type RunStarter interface {
	// Redrive starts the run of a dead letter again: same workflow ID, event ID and bytes, on the queue of redrives. An
	// operation.RunExistsError means that the latest run of its workflow is open or has processed the event; an event.Error of
	// class rejected, that Temporal refuses it.
	Redrive(ctx context.Context, d event.DeadLetter) (event.Run, error)
	// Recover starts the run of an event that never arrived. isNew is false if another event has its key. An event.Error of class
	// rejected means that Temporal refuses the event.
	Recover(ctx context.Context, r event.Receipt, body []byte) (isNew bool, err error)
	// LatestRun returns the latest run of a workflow; the zero value if there is none.
	LatestRun(ctx context.Context, workflowID string) (operation.LatestRun, error)
	// Wake makes the workflow of an operation read its row, and starts it if it isn't running.
	Wake(ctx context.Context, kind operation.Kind, id string) error
}

// ReplayStore stores who has claimed a dead letter, and the run that was started for it.
type ReplayStore interface {
	// Unstarted returns dead letters that the owner has claimed but not marked as started.
	Unstarted(ctx context.Context, owner string, n int) ([]event.DeadLetter, error)
	// MarkStarted stores run IDs by the IDs of dead letters.
	MarkStarted(ctx context.Context, owner string, runs map[int64]string) error
	// Release returns dead letters to the waiting state.
	Release(ctx context.Context, owner string, ids ...int64) error
	// Redeliver resends an event to a subscription whose delivery had failed.
	Redeliver(ctx context.Context, eventID string, subscriptionID int64) error
}

// RedriveStore stores bulk redrives.
type RedriveStore interface {
	OperationStore[operation.Redrive]
	// Plan counts what a redrive with this filter would include, and Create stores one.
	Plan(ctx context.Context, f operation.RedriveFilter) (operation.RedrivePlan, error)
	Create(ctx context.Context, r operation.Redrive, by oversight.Actor) (operation.Redrive, error)
	// ClaimPage claims the next n dead letters, or fewer if more than inFlight runs would be open.
	ClaimPage(ctx context.Context, id string, n, inFlight int) (operation.RedrivePage, error)
	// Settle ends the redrive if none of its runs is open, and returns it.
	Settle(ctx context.Context, id string) (r operation.Redrive, settled bool, err error)
}

// DueStore stores when dead letters are due.
type DueStore interface {
	// PlanAutomaticRedrive schedules dead letters, and marks the exhausted ones.
	PlanAutomaticRedrive(ctx context.Context, p operation.AutomaticRedrive) (planned, exhausted int64, err error)
	// ClaimDue claims the first n that are due, or fewer if more than inFlight would be redriving.
	ClaimDue(ctx context.Context, owner string, p operation.AutomaticRedrive, n, inFlight int) (operation.RedrivePage, error)
}

// RedrivePage runs one time slice of a bulk redrive: it claims dead letters and starts their runs for some seconds, unless the
// redrive is paused or has ended. It can be killed at any moment and run again.
func (a *Activities) RedrivePage(ctx context.Context, id string) (operation.RedriveProgress, error) {
	drained, err := a.redrive(ctx, id)
	if err != nil {
		return operation.RedriveProgress{}, err
	}
	r, settled, err := a.Redrives.Settle(ctx, id)
	if err == nil && settled {
		logRedrive(ctx, r)
	}
	return operation.RedriveProgress{Redrive: r, Drained: drained, Settled: settled}, err
}

// redrive survives a worker's death: rate and cursor are read from the redrive's row, and ClaimPage moves the cursor in the
// transaction that claims the dead letters. When Temporal runs the activity again, redrive first starts what was claimed but not
// started, and spaces all starts by the same rate. Before it claims, it checks the limit on open runs.
func (a *Activities) redrive(ctx context.Context, id string) (drained bool, err error) {
	r, _, err := a.Redrives.Settle(ctx, id)
	if err != nil || r.State.Ended() {
		return true, err
	}
	restart := a.newRestart(id, r.Rate)
	if err := restart.leftovers(ctx); err != nil {
		return false, err
	}
	for slice := newTimeSlice(ctx); !slice.over(); {
		page, err := a.Redrives.ClaimPage(ctx, id, chunkFor(r.Rate), inFlight(r.Rate))
		if err != nil || page.Drained || page.State != operation.Running {
			return page.Drained, err
		}
		if err := restart.fresh(ctx, page.DeadLetters); err != nil {
			return false, err
		}
		if len(page.DeadLetters) == 0 && activities.Pause(ctx, fullPause) != nil {
			return false, ctx.Err()
		}
	}
	return false, nil
}

// CancelRedrive ends a bulk redrive.
func (a *Activities) CancelRedrive(ctx context.Context, id string) error {
	return a.Redrives.Cancel(ctx, id)
}

func logRedrive(ctx context.Context, r operation.Redrive) {
	slog.InfoContext(ctx, "redrive.ended", "redrive_id", r.ID, "outcome", string(r.State), "total", r.Total, "done", r.Done,
		"failed", r.Failed, "skipped", r.Skipped, "duration_ms", time.Since(r.StartedAt).Milliseconds())
}

// RedriveDue runs one time slice of the automatic redrive: it schedules unscheduled dead letters, and starts due ones for some
// seconds. It can be killed at any moment and run again. If automatic redrive is off, it does nothing.
func (a *Activities) RedriveDue(ctx context.Context) (operation.DueProgress, error) {
	policy := a.Automatic()
	if policy.Attempts == 0 {
		return operation.DueProgress{Drained: true}, nil
	}
	owner := activity.GetInfo(ctx).WorkflowExecution.ID
	restart := a.newRestart(owner, policy.Rate)
	if err := restart.leftovers(ctx); err != nil {
		return operation.DueProgress{}, err
	}
	var done operation.DueProgress
	var err error
	if done.Planned, done.Exhausted, err = a.Due.PlanAutomaticRedrive(ctx, policy); err != nil {
		return done, err
	}
	for slice := newTimeSlice(ctx); !slice.over(); {
		page, err := a.Due.ClaimDue(ctx, owner, policy, chunkFor(policy.Rate), inFlight(policy.Rate))
		if err != nil {
			return done, err
		}
		if err := restart.fresh(ctx, page.DeadLetters); err != nil {
			return done, err
		}
		done.Started += len(page.DeadLetters)
		if len(page.DeadLetters) == 0 {
			done.Drained = page.Drained
			break
		}
	}
	return done, nil
}
