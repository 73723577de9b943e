package process

import (
	"context"
	"log/slog"
	"time"
)

// patience is the pause between two looks at something that has to be there.
const patience = 2 * time.Second

// waitFor waits, as long as it takes, for something that a role cannot start without: the order in which the parts of an
// installation start must not matter. Its error is only ever that of the context.
func waitFor(ctx context.Context, name string, probe func(context.Context) error) error {
	for {
		attempt, cancel := context.WithTimeout(ctx, patience)
		err := probe(attempt)
		cancel()
		if err == nil {
			return nil
		}
		slog.WarnContext(ctx, "process.waiting", "for", name, "error", err.Error())
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(patience):
		}
	}
}
