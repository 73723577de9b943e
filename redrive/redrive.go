// Package redrive starts what operators start: one replay of a dead letter, and the operations that go on for a while, which are
// redrives, rebuilds, resends and imports. It brings the store, which says what was decided, and the starter of runs together in
// the order that is safe: store, then start. The command line and the API of operators both use it.
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

// Runs starts runs.
type Runs interface {
	// Replay starts the run of a dead letter again. An operation.RunExistsError says that the latest run of its workflow is
	// open, or has processed the event.
	Replay(ctx context.Context, d event.DeadLetter) (event.Run, error)
}

// Replays runs single dead letters again. Its methods may be called at the same time, by several processes.
type Replays struct {
	Letters Letters
	Runs    Runs
}
