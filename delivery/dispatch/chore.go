package dispatch

import (
	"context"
	"log/slog"
	"time"

	"holdfast/event"
)

// Chore is a periodic task. Any number of processes may run it concurrently.
type Chore struct {
	// Name identifies the chore in the log.
	Name string
	// Every is the pause between two runs, spread by a quarter so that processes don't run it in step.
	Every time.Duration
	// Do does a bounded amount of work. If it returns more, it is called again immediately.
	Do func(ctx context.Context) (more bool, err error)
}

// choreTimeout bounds one call of Do.
const choreTimeout = time.Minute

func (c Chore) run(ctx context.Context) {
	for ctx.Err() == nil {
		more, err := c.once(ctx)
		if err != nil && ctx.Err() == nil {
			slog.WarnContext(ctx, "dispatch.chore_failed", "step", c.Name, "error", err.Error())
		}
		if more && err == nil {
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(spread(event.Duration(c.Every), 0.25)):
		}
	}
}

func (c Chore) once(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, choreTimeout)
	defer cancel()
	return c.Do(ctx)
}
