package launch

import (
	"context"
	"fmt"

	"holdfast/event/operation"
	"holdfast/event/oversight"
)

// Store stores the operations of one kind. Each change writes one audit entry in its transaction.
type Store[T operation.Any] interface {
	// Create stores an operation with an ID and a rate.
	Create(ctx context.Context, wanted T, by oversight.Actor) (T, error)
	// Change sets the state of an operation that hasn't ended. Otherwise the error is an event.Error of class rejected.
	Change(ctx context.Context, id string, to operation.State, by oversight.Actor) (T, error)
	// Read returns an operation with its progress.
	Read(ctx context.Context, id string) (T, error)
	// Latest returns the latest operations, newest first.
	Latest(ctx context.Context, limit int) ([]T, error)
}

// Waker wakes the workflows of operations.
type Waker interface {
	// Wake signals the workflow of an operation to read its row, and starts it if it isn't running.
	Wake(ctx context.Context, kind operation.Kind, id string) error
}

// Operations starts and changes operations of one kind. The state is in the row; signaling the workflow only speeds up a change.
// If only the signal fails, methods return the operation together with the error, and the next sweep signals the workflow. They
// are safe for concurrent use, also across processes.
type Operations[T operation.Any] struct {
	Store[T]

	Kind operation.Kind
	Runs Waker
}

// Start stores an operation with an ID and a rate, and starts its workflow.
func (o Operations[T]) Start(ctx context.Context, wanted T, by oversight.Actor) (started T, err error) {
	if err := o.Kind.CheckRate(wanted.Common().Rate); err != nil {
		return started, err
	}
	started, err = o.Create(ctx, wanted, by)
	return o.wake(ctx, started, err)
}

// Change pauses, resumes or cancels an operation. Resuming also restarts a lost workflow. Completed work isn't undone.
func (o Operations[T]) Change(ctx context.Context, id string, to operation.State, by oversight.Actor) (T, error) {
	changed, err := o.Store.Change(ctx, id, to, by)
	return o.wake(ctx, changed, err)
}

// wake signals the workflow of an operation that was stored without an error.
func (o Operations[T]) wake(ctx context.Context, stored T, err error) (T, error) {
	if err != nil {
		return *new(T), err
	}
	id := stored.Common().ID
	if err := o.Runs.Wake(ctx, o.Kind, id); err != nil {
		err = fmt.Errorf("%s %s is stored, but its workflow couldn't be signaled (the next sweep does it): %w", o.Kind, id, err)
		return stored, err
	}
	return stored, nil
}
