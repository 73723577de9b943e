package operations

import (
	"context"
	"log/slog"
	"time"

	"holdfast/event"
	"holdfast/event/operation"
)

// RebuildStore keeps rebuilds, and does their pages.
type RebuildStore interface {
	// RebuildPage reads the next n events again, writes those that parse reads differently, and moves on behind them.
	RebuildPage(ctx context.Context, id string, n int, parse event.Parser) (operation.Rebuild, error)
	Rebuild(ctx context.Context, id string) (operation.Rebuild, error)
	// CancelRebuild ends the rebuild.
	CancelRebuild(ctx context.Context, id string) error
	// ActiveRebuilds are the IDs of those that need a workflow.
	ActiveRebuilds(ctx context.Context) ([]string, error)
}

// RebuildPage is one turn of a rebuild: it reads events again for some seconds, at the rate of the rebuild, unless that is paused
// or has ended. It may be killed at any moment and run again.
func (a *Activities) RebuildPage(ctx context.Context, id string) (operation.Rebuild, error) {
	r, err := a.Rebuilds.Rebuild(ctx, id)
	if err != nil || r.State != operation.Running {
		return r, err
	}
	pace, n := newPace(r.Rate), chunkFor(r.Rate)
	for turn := newTurn(ctx); r.State == operation.Running && !turn.over(); {
		if r, err = a.Rebuilds.RebuildPage(ctx, id, n, a.Parse); err != nil {
			return r, err
		}
		if r.State == operation.Completed {
			reportRebuild(ctx, r)
			break
		}
		if err := pace.waitFor(ctx, n); err != nil {
			return r, err
		}
	}
	return r, nil
}

// CancelRebuild ends a rebuild.
func (a *Activities) CancelRebuild(ctx context.Context, id string) error {
	return a.Rebuilds.CancelRebuild(ctx, id)
}

func reportRebuild(ctx context.Context, r operation.Rebuild) {
	slog.InfoContext(ctx, "rebuild.ended", "rebuild_id", r.ID, "outcome", string(r.State), "dry_run", r.DryRun, "read", r.Read,
		"changed", r.Changed, "unreadable", r.Unreadable, "skipped", r.Skipped, "entities", r.Entities,
		"duration_ms", time.Since(r.StartedAt).Milliseconds())
}
