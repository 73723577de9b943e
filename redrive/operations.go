package redrive

import (
	"context"
	"fmt"

	"holdfast/event/operation"
	"holdfast/event/oversight"
)

// Store keeps the operations of one kind. Each change writes one audit entry in its transaction.
type Store[T operation.Any] interface {
	// Create stores an operation that has an ID and a rate.
	Create(ctx context.Context, wanted T, by oversight.Actor) (T, error)
	// Change sets the state of an operation that has not ended. Another one is refused with an event.Error of class rejected.
	Change(ctx context.Context, id string, to operation.State, by oversight.Actor) (T, error)
	// Read returns an operation with its progress.
	Read(ctx context.Context, id string) (T, error)
	// Latest returns the latest operations, newest first.
	Latest(ctx context.Context, limit int) ([]T, error)
}

// Waker starts the workflows of operations.
type Waker interface {
	// Wake makes the workflow of an operation look at its row, and starts it if there is none.
	Wake(ctx context.Context, kind operation.Kind, id string) error
}

// Operations starts and changes the operations of one kind. The row of an operation is what counts: its workflow is signaled, and
// would see a change a little later without that. If only that fails, the operation is returned next to the error: the next
// sweep wakes the workflow. The methods may be called at the same time, by several processes.
type Operations[T operation.Any] struct {
	Kind  operation.Kind
	Store Store[T]
	Runs  Waker
}

// Start stores an operation, which has an ID and a rate, and starts its workflow.
func (o Operations[T]) Start(ctx context.Context, wanted T, by oversight.Actor) (started T, err error) {
	if err := o.Kind.CheckRate(wanted.Common().Rate); err != nil {
		return started, err
	}
	started, err = o.Store.Create(ctx, wanted, by)
	return o.wake(ctx, started, err)
}

// Change pauses an operation, resumes it (running; also one whose workflow is gone) or cancels it. What it has started or done
// stays.
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
		err = fmt.Errorf("%s %s is stored, but its workflow was not signaled; the next sweep signals it: %w", o.Kind, id, err)
		return stored, err
	}
	return stored, nil
}

// Read returns an operation with its progress.
func (o Operations[T]) Read(ctx context.Context, id string) (T, error) { return o.Store.Read(ctx, id) }

// Latest returns the latest operations, newest first.
func (o Operations[T]) Latest(ctx context.Context, limit int) ([]T, error) {
	return o.Store.Latest(ctx, limit)
}
