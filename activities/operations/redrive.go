package operations

import (
	"context"

	"holdfast/event"
	"holdfast/event/operation"
)

// RunStarter starts runs. Only its implementation uses Temporal's client.
type RunStarter interface {
	// Redrive starts the run of a dead letter again: same workflow ID, event ID and bytes, on the queue of redrives. An
	// operation.RunExistsError means that the latest run of its workflow is open or has processed the event; an event.Error of
	// class rejected, that Temporal refuses it.
	Redrive(ctx context.Context, d event.DeadLetter) (event.Run, error)
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
