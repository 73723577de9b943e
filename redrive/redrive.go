// Package redrive is how what went wrong is done again by hand: dead letters are run again, one of them or as many as a filter
// finds, and stored events are read again once a definition is corrected. It brings the store, which says who has taken a dead
// letter, and the starter of runs together in the one order that is safe: take, start, keep the run. The command line and the API
// of operators both go through it.
//
// It must never know SQL, Temporal or HTTP.
package redrive

import (
	"context"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
)

// Letters keeps who has taken a dead letter.
type Letters interface {
	// TakeForReplay takes a dead letter that waits, and audits it. Others are refused with an *event.StateError.
	TakeForReplay(ctx context.Context, owner string, id int64, actor oversight.Actor) (event.DeadLetter, error)
	// EditDeadLetter puts a new event in the place of a dead letter, and audits it. The new one is taken, without an owner.
	EditDeadLetter(ctx context.Context, e operation.Edit, actor oversight.Actor) (event.DeadLetter, error)
	// MarkStarted keeps run IDs by the IDs of dead letters.
	MarkStarted(ctx context.Context, owner string, runs map[int64]string) error
	// GiveBack lets dead letters wait again.
	GiveBack(ctx context.Context, owner string, ids ...int64) error
	// Redeliver sends an event again to a subscription to which it could not be delivered. Nothing is processed again.
	Redeliver(ctx context.Context, eventID string, subscriptionID int64) error
}

// Books keeps bulk redrives.
type Books interface {
	// PlanRedrive says what a redrive of the filter would take on.
	PlanRedrive(ctx context.Context, f operation.RedriveFilter) (operation.RedrivePlan, error)
	// CreateRedrive stores a redrive and audits it.
	CreateRedrive(ctx context.Context, r operation.Redrive, actor oversight.Actor) (operation.Redrive, error)
	// ChangeRedrive sets the state of one that has not ended, and audits it.
	ChangeRedrive(ctx context.Context, id string, to operation.State, actor oversight.Actor) (operation.Redrive, error)
	// Redrive reads one, as far as it has come.
	Redrive(ctx context.Context, id string) (operation.Redrive, error)
	// Redrives are the latest, newest first.
	Redrives(ctx context.Context, limit int) ([]operation.Redrive, error)
}

// Runs starts runs.
type Runs interface {
	// Replay starts the run of a dead letter again. An operation.RunExistsError says that the latest run of its workflow is
	// open, or has processed the event.
	Replay(ctx context.Context, d event.DeadLetter) (event.Run, error)
	// WakeRedrive makes the workflow of a bulk redrive look at its row, and starts it if there is none.
	WakeRedrive(ctx context.Context, id string) error
}

// Service is what an operator can do. Its methods may be called at the same time, by several processes.
type Service struct {
	Letters Letters
	Books   Books
	Runs    Runs
}
