package operations

import (
	"context"
	"log/slog"
	"time"

	"holdfast/delivery"
	"holdfast/event/operation"
)

// ResendStore keeps resends, and does their pages.
type ResendStore interface {
	// ResendPage looks at the next n events, queues those that are to be sent, and moves on behind them.
	ResendPage(ctx context.Context, id string, n int) (delivery.Resend, error)
	Resend(ctx context.Context, id string) (delivery.Resend, error)
	// CancelResend ends the resend.
	CancelResend(ctx context.Context, id string) error
	// ActiveResends are the IDs of those that need a workflow.
	ActiveResends(ctx context.Context) ([]string, error)
}

// ResendPage is one turn of a resend: it queues deliveries for some seconds, at the rate of the resend, unless that is paused or
// has ended. It may be killed at any moment and run again.
func (a *Activities) ResendPage(ctx context.Context, id string) (delivery.Resend, error) {
	r, err := a.Resends.Resend(ctx, id)
	if err != nil || r.State != operation.Running {
		return r, err
	}
	pace := newPace(r.Rate)
	for turn := newTurn(ctx); r.State == operation.Running && !turn.over(); {
		before := r.Queued
		if r, err = a.Resends.ResendPage(ctx, id, resendChunk(r.Rate)); err != nil {
			return r, err
		}
		if r.State == operation.Completed {
			slog.InfoContext(ctx, "resend.ended", "resend_id", r.ID, "outcome", string(r.State), "read", r.Read, "queued", r.Queued,
				"duration_ms", time.Since(r.StartedAt).Milliseconds())
			break
		}
		if err := pace.waitFor(ctx, int(r.Queued-before)); err != nil {
			return r, err
		}
	}
	return r, nil
}

// resendChunk is at most a second's worth. Events that do not match cost a look and no delivery.
func resendChunk(rate float64) int { return min(max(int(rate), 1), 500) }

// CancelResend ends a resend.
func (a *Activities) CancelResend(ctx context.Context, id string) error {
	return a.Resends.CancelResend(ctx, id)
}
