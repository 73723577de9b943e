package runs

import (
	"context"
	"time"
)

// WithTimeout is context.WithTimeout with a deadline that nobody can see: of one that it sees, Temporal's client gives a call
// only half.
func WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	timer := time.AfterFunc(d, func() { cancel(context.DeadlineExceeded) })
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}
