package operations

import (
	"context"
	"log/slog"
	"time"

	"holdfast/event"
	"holdfast/event/operation"
)

// RebuildStore stores rebuilds and does their pages.
type RebuildStore interface {
	OperationStore[operation.Rebuild]
	// Page parses the next n events again, writes those whose result has changed, and advances past them.
	Page(ctx context.Context, id string, n int, parse event.Parser) (operation.Rebuild, error)
}

// RebuildPage parses a rebuild's events again for some seconds.
func (a *Activities) RebuildPage(ctx context.Context, id string) (operation.Rebuild, error) {
	return paging[operation.Rebuild]{
		store: a.Rebuilds, size: chunkFor, done: func(r operation.Rebuild) int64 { return r.Read }, log: logRebuild,
		page: func(ctx context.Context, id string, n int) (operation.Rebuild, error) {
			return a.Rebuilds.Page(ctx, id, n, a.Parse)
		},
	}.run(ctx, id)
}

// CancelRebuild ends a rebuild.
func (a *Activities) CancelRebuild(ctx context.Context, id string) error {
	return a.Rebuilds.Cancel(ctx, id)
}

func logRebuild(ctx context.Context, r operation.Rebuild) {
	slog.InfoContext(ctx, "rebuild.ended", "rebuild_id", r.ID, "outcome", string(r.State), "dry_run", r.DryRun, "read", r.Read,
		"changed", r.Changed, "unreadable", r.Unreadable, "skipped", r.Skipped, "entities", r.Entities,
		"duration_ms", time.Since(r.StartedAt).Milliseconds())
}
