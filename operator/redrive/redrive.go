// Package redrive starts replays of single dead letters and operations (redrives, rebuilds, resends and imports). It calls the
// store, which records the request, and then starts the run, which is the safe order. The command line and the operator API both
// use it.
//
// It must not depend on SQL, Temporal or HTTP.
package redrive

import (
	"context"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
)

// DeadLetters claims dead letters.
type DeadLetters interface {
	// ClaimForReplay claims an open dead letter, and audits it. The error is an *event.StateError if it isn't open.
	ClaimForReplay(ctx context.Context, owner string, id int64, actor oversight.Actor) (event.DeadLetter, error)
	// EditDeadLetter replaces a dead letter with a new event, and audits it. The new dead letter is claimed, without an owner.
	EditDeadLetter(ctx context.Context, e operation.Edit, actor oversight.Actor) (event.DeadLetter, error)
	// MarkStarted stores run IDs by dead letter ID.
	MarkStarted(ctx context.Context, owner string, runs map[int64]string) error
	// Release returns claimed dead letters to their open state.
	Release(ctx context.Context, owner string, ids ...int64) error
	// Redeliver sends an event again to a subscription whose delivery failed, without processing it again.
	Redeliver(ctx context.Context, eventID string, subscriptionID int64) error
}

// Runs starts runs.
type Runs interface {
	// Replay runs a dead letter again. The error is an operation.RunExistsError if the latest run of its workflow is open or has
	// processed the event.
	Replay(ctx context.Context, d event.DeadLetter) (event.Run, error)
}

// Replays runs single dead letters again. It is safe for concurrent use, also across processes.
type Replays struct {
	DeadLetters DeadLetters
	Runs        Runs
}
