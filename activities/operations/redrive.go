package operations

import (
	"context"

	"holdfast/event"
	"holdfast/event/operation"
)

// RunStarter starts runs. Only it knows Temporal's client.
type RunStarter interface {
	// Redrive starts the run of a dead letter again: the same workflow ID, event ID and bytes, on the queue of redrives. An
	// operation.RunExistsError says that the latest run of its workflow is open, or has processed the event; an event.Error of
	// class rejected, that Temporal does not take it.
	Redrive(ctx context.Context, d event.DeadLetter) (event.Run, error)
	// LatestRun is the latest run of a workflow; the zero value if there is none.
	LatestRun(ctx context.Context, workflowID string) (operation.LatestRun, error)
	// Wake makes the workflow of an operation look at its row, and starts it if there is none.
	Wake(ctx context.Context, kind operation.Kind, id string) error
}

// ReplayStore keeps who has taken a dead letter, and what run was started for it.
type ReplayStore interface {
	// Unstarted are dead letters that the owner has taken and not marked as started.
	Unstarted(ctx context.Context, owner string, n int) ([]event.DeadLetter, error)
	// MarkStarted keeps run IDs by the IDs of dead letters.
	MarkStarted(ctx context.Context, owner string, runs map[int64]string) error
	// Release lets dead letters wait again.
	Release(ctx context.Context, owner string, ids ...int64) error
	// Redeliver sends an event again to a subscription that it could not be delivered to.
	Redeliver(ctx context.Context, eventID string, subscriptionID int64) error
}

// RedriveStore keeps bulk redrives.
type RedriveStore interface {
	OperationStore[operation.Redrive]
	// TakePage takes the next n dead letters, at most so many that inFlight runs are open.
	TakePage(ctx context.Context, id string, n, inFlight int) (operation.RedrivePage, error)
	// Settle ends the redrive if none of its runs is open, and reads it.
	Settle(ctx context.Context, id string) (r operation.Redrive, settled bool, err error)
}

// DueStore keeps when dead letters are due.
type DueStore interface {
	// PlanAutomaticRedrive says when dead letters are due, and which are exhausted.
	PlanAutomaticRedrive(ctx context.Context, p operation.AutomaticRedrive) (planned, exhausted int64, err error)
	// TakeDue takes the first n that are due, at most so many that inFlight are redriving.
	TakeDue(ctx context.Context, owner string, p operation.AutomaticRedrive, n, inFlight int) (operation.RedrivePage, error)
}
