package ingress

import (
	"context"
	"time"
)

// withTimeout is context.WithTimeout with a deadline that nobody can see: of one that it sees, Temporal's client gives a call
// only half.
func withTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	timer := time.AfterFunc(d, func() { cancel(context.DeadlineExceeded) })
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}
