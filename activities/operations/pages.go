package operations

import (
	"context"

	"holdfast/event/operation"
)

// OperationStore stores the operations of one kind.
type OperationStore[T operation.Any] interface {
	// Read returns an operation with its progress.
	Read(ctx context.Context, id string) (T, error)
	Cancel(ctx context.Context, id string) error
	// Active returns the IDs of the operations that need a workflow.
	Active(ctx context.Context) ([]string, error)
}

// paging processes an operation page by page.
type paging[T operation.Any] struct {
	store OperationStore[T]
	// size returns the size of a page at a rate.
	size func(rate float64) int
	// page does the next page of a running operation. It only reads any other one.
	page func(ctx context.Context, id string, n int) (T, error)
	// done returns how much of what its rate limits an operation has done.
	done func(T) int64
	// log reports a completed operation.
	log func(context.Context, T)
}

// run does pages for some seconds, at the operation's rate, unless it is paused or has ended. It can be killed at any moment
// and run again.
func (p paging[T]) run(ctx context.Context, id string) (T, error) {
	o, err := p.store.Read(ctx, id)
	if state := o.Common().State; err != nil || state == operation.Completed || state == operation.Paused {
		return o, err // a page of a paused operation would lock its row for nothing; one of a canceled operation ends it
	}
	rate := o.Common().Rate
	pace, size := newPace(rate), p.size(rate)
	for slice := newTimeSlice(ctx); !slice.over(); {
		before := p.done(o)
		if o, err = p.page(ctx, id, size); err != nil {
			return o, err
		}
		if state := o.Common().State; state != operation.Running {
			if state == operation.Completed {
				p.log(ctx, o)
			}
			break
		}
		if err := pace.waitFor(ctx, int(p.done(o)-before)); err != nil {
			return o, err
		}
	}
	return o, nil
}
