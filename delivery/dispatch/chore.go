package dispatch

import (
	"context"
	"log/slog"
	"time"

	"holdfast/event"
)

// Chore is what has to be done now and then, by whatever process. Any number of processes may do it beside each other.
type Chore struct {
	// Name says in the log what it is.
	Name string
	// Every is the pause between two times, spread by a quarter, so that processes do not meet.
	Every time.Duration
	// Do does a bounded piece of it, and says whether there is more, which is done at once.
	Do func(ctx context.Context) (more bool, err error)
}

// choreLimit bounds one piece.
const choreLimit = time.Minute

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
	ctx, cancel := context.WithTimeout(ctx, choreLimit)
	defer cancel()
	return c.Do(ctx)
}
