package background

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
	// ReplayInBulk starts the run of a dead letter again: same workflow ID, event ID and bytes, on the queue of replays. An
	// operation.RunExistsError means that the latest run of its workflow is open or has processed the event; an event.Error of
	// class rejected, that Temporal refuses it.
	ReplayInBulk(ctx context.Context, d event.DeadLetter) (event.Run, error)
	// Recover starts the run of an event that never arrived. isNew is false if another event has its key. An event.Error of class
	// rejected means that Temporal refuses the event.
	Recover(ctx context.Context, r event.Receipt, body []byte) (isNew bool, err error)
	// LatestRun returns the latest run of a workflow; the zero value if there is none.
	LatestRun(ctx context.Context, workflowID string) (operation.LatestRun, error)
	// Wake makes the workflow of an operation read its row, and starts it if it isn't running.
	Wake(ctx context.Context, kind operation.Kind, id string) error
}

// ClaimStore stores who has claimed a dead letter, and the run that was started for it.
type ClaimStore interface {
	// Unstarted returns dead letters that the owner has claimed but not marked as started.
	Unstarted(ctx context.Context, owner string, n int) ([]event.DeadLetter, error)
	// MarkStarted stores run IDs by the IDs of dead letters.
	MarkStarted(ctx context.Context, owner string, runs map[int64]string) error
	// Release returns dead letters to the waiting state.
	Release(ctx context.Context, owner string, ids ...int64) error
	// Redeliver resends an event to a subscription whose delivery had failed.
	Redeliver(ctx context.Context, eventID string, subscriptionID int64) error
}

// ReplayStore stores bulk replays.
type ReplayStore interface {
	OperationStore[operation.Replay]
	// Plan counts what a replay with this filter would include, and Create stores one.
	Plan(ctx context.Context, f operation.ReplayFilter) (operation.ReplayPlan, error)
	Create(ctx context.Context, r operation.Replay, by oversight.Actor) (operation.Replay, error)
	// ClaimPage claims the next n dead letters, or fewer if more than inFlight runs would be open.
	ClaimPage(ctx context.Context, id string, n, inFlight int) (operation.ReplayPage, error)
	// Settle ends the replay if none of its runs is open, and returns it.
	Settle(ctx context.Context, id string) (r operation.Replay, settled bool, err error)
}

// DueStore stores when dead letters are due.
type DueStore interface {
	// PlanAutomaticReplay schedules dead letters, and marks the exhausted ones.
	PlanAutomaticReplay(ctx context.Context, p operation.AutomaticReplay) (planned, exhausted int64, err error)
	// ClaimDue claims the first n that are due, or fewer if more than inFlight would be replaying.
	ClaimDue(ctx context.Context, owner string, p operation.AutomaticReplay, n, inFlight int) (operation.ReplayPage, error)
}

// ReplayPage runs one time slice of a bulk replay: it claims dead letters and starts their runs for some seconds, unless the
// replay is paused or has ended. It can be killed at any moment and run again.
func (a *Activities) ReplayPage(ctx context.Context, id string) (operation.ReplayProgress, error) {
	drained, err := a.replay(ctx, id)
	if err != nil {
		return operation.ReplayProgress{}, err
	}
	r, settled, err := a.Replays.Settle(ctx, id)
	if err == nil && settled {
		logReplay(ctx, r)
	}
	return operation.ReplayProgress{Replay: r, Drained: drained, Settled: settled}, err
}

// replay survives a worker's death: rate and cursor are read from the replay's row, and ClaimPage moves the cursor in the
// transaction that claims the dead letters. When Temporal runs the activity again, replay first starts what was claimed but not
// started, and spaces all starts by the same rate. Before it claims, it checks the limit on open runs.
func (a *Activities) replay(ctx context.Context, id string) (drained bool, err error) {
	r, _, err := a.Replays.Settle(ctx, id)
	if err != nil || r.State.Ended() {
		return true, err
	}
	restart := a.newRestart(id, r.Rate)
	if err := restart.leftovers(ctx); err != nil {
		return false, err
	}
	for slice := newTimeSlice(ctx); !slice.over(); {
		page, err := a.Replays.ClaimPage(ctx, id, chunkFor(r.Rate), inFlight(r.Rate))
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

// CancelReplay ends a bulk replay.
func (a *Activities) CancelReplay(ctx context.Context, id string) error {
	return a.Replays.Cancel(ctx, id)
}

func logReplay(ctx context.Context, r operation.Replay) {
	slog.InfoContext(ctx, "replay.ended", "replay_id", r.ID, "outcome", string(r.State), "total", r.Total, "done", r.Done,
		"failed", r.Failed, "skipped", r.Skipped, "duration_ms", time.Since(r.StartedAt).Milliseconds())
}

// ReplayDue runs one time slice of the automatic replay: it schedules unscheduled dead letters, and starts due ones for some
// seconds. It can be killed at any moment and run again. If automatic replay is off, it does nothing.
func (a *Activities) ReplayDue(ctx context.Context) (operation.DueProgress, error) {
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
	if done.Planned, done.Exhausted, err = a.Due.PlanAutomaticReplay(ctx, policy); err != nil {
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
