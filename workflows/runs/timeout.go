package runs

import (
	"context"
	"time"
)

// WithTimeout is context.WithTimeout without a visible deadline: Temporal's client gives a single call only half of a deadline
// that it sees.
func WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	timer := time.AfterFunc(d, func() { cancel(context.DeadlineExceeded) })
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}
