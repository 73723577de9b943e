package dispatch

import (
	"context"
	"time"

	"holdfast/delivery"
	"holdfast/event/oversight"
)

// Queue stores deliveries and destinations. It is safe for concurrent use by any number of processes.
type Queue interface {
	// Lease leases due deliveries, oldest first within each destination. It skips destinations that are paused, disabled,
	// rate-limited, at their in-flight limit, or whose breaker is open. next is when to poll again unless woken earlier.
	Lease(ctx context.Context, want delivery.LeaseRequest) (jobs []delivery.Job, next time.Time, err error)
	// Messages reads the events of jobs: as many from the start as fit into maxBytes of bodies, and at least one. Purged and
	// expunged events are missing from the map.
	Messages(ctx context.Context, eventIDs []string, maxBytes int) (messages map[string]delivery.Message, read int, err error)
	// Targets returns the current target of each subscription, or why there is none: event.ErrNotFound if the subscription was
	// deleted.
	Targets(ctx context.Context, subscriptionIDs []int64) (targets map[int64]delivery.Target, failed map[int64]error)
	// Settle records results in the order in which attempts ended, and returns the state changes that they caused.
	Settle(ctx context.Context, outcomes []delivery.Outcome) ([]delivery.Transition, error)
	// Wakes receives a value whenever this process makes deliveries due. It has a buffer of one.
	Wakes() <-chan struct{}
}

// ErrorSink takes entries for the error log. Record never blocks.
type ErrorSink interface{ Record(e oversight.ErrorEntry) }

// AttemptCounter counts attempts at destinations. Count neither blocks nor fails.
type AttemptCounter interface {
	Count(destinationID int64, succeeded bool, took time.Duration)
}

// Sender makes attempts at one kind of destination. It returns a result before the context's deadline.
type Sender interface {
	Send(ctx context.Context, t delivery.Target, j delivery.Job, m delivery.Message) delivery.Result
}
