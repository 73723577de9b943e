package operations

import (
	"context"

	"holdfast/event/operation"
)

// OperationStore keeps the operations of one kind.
type OperationStore[T operation.Any] interface {
	// Read returns an operation with its progress.
	Read(ctx context.Context, id string) (T, error)
	// Cancel ends an operation whose workflow was canceled.
	Cancel(ctx context.Context, id string) error
	// Active returns the IDs of the operations that need a workflow.
	Active(ctx context.Context) ([]string, error)
}

// paging does one page after the other of an operation.
type paging[T operation.Any] struct {
	store OperationStore[T]
	// size is how much a page takes on, at a rate.
	size func(rate float64) int
	// page does the next page of an operation that runs, and only reads another one.
	page func(ctx context.Context, id string, n int) (T, error)
	// done is how much an operation has done of what its rate bounds.
	done func(T) int64
	// log reports an operation that has completed.
	log func(context.Context, T)
}

// run does pages for some seconds, at the rate of the operation, unless that is paused or has ended. It may be killed at any
// moment and run again.
func (p paging[T]) run(ctx context.Context, id string) (T, error) {
	o, err := p.store.Read(ctx, id)
	if state := o.Common().State; err != nil || state == operation.Completed || state == operation.Paused {
		return o, err // a page of a paused operation would lock its row for nothing; that of a canceled one ends it
	}
	rate := o.Common().Rate
	pace, size := newPace(rate), p.size(rate)
	for turn := newTurn(ctx); !turn.over(); {
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
