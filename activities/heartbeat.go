package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
)

// heartbeat is much shorter than the heartbeat timeouts of the workflows.
const heartbeat = 3 * time.Second

// keepAlive sends heartbeats until stop is called. Without them, a dead worker or a lost task would only be noticed after the
// activity's timeout.
func keepAlive(ctx context.Context) (stop func()) {
	if activity.GetInfo(ctx).HeartbeatTimeout == 0 {
		return func() {} // a local activity, or one with a short timeout
	}
	done := make(chan struct{})
	go func() {
		ticker := time.NewTicker(heartbeat)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				activity.RecordHeartbeat(ctx)
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}

// Pause waits for d or until the context ends, and then returns its error.
func Pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
