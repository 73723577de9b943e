package operations

import (
	"context"
	"log/slog"
	"time"

	"holdfast/activities"
	"holdfast/event/operation"
)

// RedrivePage runs one turn of a bulk redrive: it claims dead letters and starts their runs for some seconds, unless the
// redrive is paused or has ended. It can be killed at any moment and run again.
func (a *Activities) RedrivePage(ctx context.Context, id string) (operation.RedriveProgress, error) {
	drained, err := a.redrive(ctx, id)
	if err != nil {
		return operation.RedriveProgress{}, err
	}
	r, settled, err := a.Redrives.Settle(ctx, id)
	if err == nil && settled {
		logRedrive(ctx, r)
	}
	return operation.RedriveProgress{Redrive: r, Drained: drained, Settled: settled}, err
}

func (a *Activities) redrive(ctx context.Context, id string) (drained bool, err error) {
	r, _, err := a.Redrives.Settle(ctx, id)
	if err != nil || r.State.Ended() {
		return true, err
	}
	restart := a.newRestart(id, r.Rate)
	if err := restart.leftovers(ctx); err != nil {
		return false, err
	}
	for turn := newTurn(ctx); !turn.over(); {
		page, err := a.Redrives.ClaimPage(ctx, id, chunkFor(r.Rate), inFlight(r.Rate))
		if err != nil || page.Drained || page.State != operation.Running {
			return page.Drained, err
		}
		if err := restart.fresh(ctx, page.Letters); err != nil {
			return false, err
		}
		if len(page.Letters) == 0 && activities.Pause(ctx, fullPause) != nil {
			return false, ctx.Err()
		}
	}
	return false, nil
}

// CancelRedrive ends a bulk redrive.
func (a *Activities) CancelRedrive(ctx context.Context, id string) error {
	return a.Redrives.Cancel(ctx, id)
}

func logRedrive(ctx context.Context, r operation.Redrive) {
	slog.InfoContext(ctx, "redrive.ended", "redrive_id", r.ID, "outcome", string(r.State), "total", r.Total, "done", r.Done,
		"failed", r.Failed, "skipped", r.Skipped, "duration_ms", time.Since(r.StartedAt).Milliseconds())
}
