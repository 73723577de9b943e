package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
)

// heartbeat is well below the time-outs that the workflows set.
const heartbeat = 3 * time.Second

// keepAlive tells the server that the activity lives, until the function that it gives is called. Without it, the death of a
// worker, or a task that was lost on its way to one, would go unnoticed for as long as the step may take.
func keepAlive(ctx context.Context) (stop func()) {
	if activity.GetInfo(ctx).HeartbeatTimeout == 0 {
		return func() {} // a local activity, or one whose time is short anyway
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

// Pause ends after a time, or with its context, whose error it gives.
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
