package dispatch

import (
	"context"
	"time"

	"holdfast/delivery"
	"holdfast/event/oversight"
)

// Queue is where deliveries wait, and what is known of the destinations. All of it is safe for concurrent use by any number of
// processes.
type Queue interface {
	// Lease takes deliveries that are due and for which there is room, oldest first within each destination, and none of a
	// destination that is paused, disabled, open, out of tokens, or has as many under way as it may. next is when to look again if
	// nobody wakes the dispatcher.
	Lease(ctx context.Context, want delivery.Want) (jobs []delivery.Job, next time.Time, err error)
	// Messages reads the events of jobs, as many from the beginning as fit into maxBytes of bodies, and at least one. An event that
	// is no longer there, or was expunged, is missing from the map.
	Messages(ctx context.Context, eventIDs []string, maxBytes int) (messages map[string]delivery.Message, read int, err error)
	// Targets are what attempts need to know, by subscription, as the last change of the API has it; or else why there is none. The
	// error is event.ErrNotFound if the subscription is gone.
	Targets(ctx context.Context, subscriptionIDs []int64) (targets map[int64]delivery.Target, failed map[int64]error)
	// Settle records what became of jobs, in the order in which they ended, and says what that has changed.
	Settle(ctx context.Context, settled []delivery.Settled) ([]delivery.Turn, error)
	// Wakes gives a value whenever this process has made deliveries due. It is a channel of one.
	Wakes() <-chan struct{}
}

// ErrorSink takes what somebody should be told of. It never waits.
type ErrorSink interface{ Record(e oversight.ErrorEntry) }

// Sender makes attempts of one kind of destination. It always gives a result, within the context's deadline.
type Sender interface {
	Send(ctx context.Context, t delivery.Target, j delivery.Job, m delivery.Message) delivery.Result
}
