package process

import (
	"context"
	"log/slog"
	"time"
)

// serverPause is the pause between two looks at which server PostgreSQL is.
const serverPause = 15 * time.Second

// sweepAfterFailover starts a sweep as soon as another server, or another timeline, answers for PostgreSQL: it may lack what the
// last one had committed. Otherwise the next sweep of the schedule would notice.
func sweepAfterFailover(
	ctx context.Context, server func(context.Context) (identity string, err error), sweep func(context.Context) error,
) {
	ticker := time.NewTicker(serverPause)
	defer ticker.Stop()
	for last := ""; ; {
		switch now, err := server(ctx); {
		case err != nil || now == last: // it is down, or the same
		case last == "":
			last = now
		default:
			if err := sweep(ctx); err != nil {
				slog.WarnContext(ctx, "sweep.not_started", "error", err.Error())
				break // repeat it
			}
			slog.WarnContext(ctx, "database.failed_over", "from", last, "to", now)
			last = now
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
