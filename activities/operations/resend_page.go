package operations

import (
	"context"
	"log/slog"
	"time"

	"holdfast/event/operation"
)

// ResendStore stores resends and does their pages.
type ResendStore interface {
	OperationStore[operation.Resend]
	// Page reads the next n events, queues the matching ones, and advances past them.
	Page(ctx context.Context, id string, n int) (operation.Resend, error)
}

// ResendPage queues deliveries of a resend for some seconds.
func (a *Activities) ResendPage(ctx context.Context, id string) (operation.Resend, error) {
	return paging[operation.Resend]{
		store: a.Resends, size: resendChunk, done: func(r operation.Resend) int64 { return r.Queued }, log: logResend,
		page: a.Resends.Page,
	}.run(ctx, id)
}

// resendChunk is at most a second's worth. Events that don't match are read but cause no delivery.
func resendChunk(rate float64) int { return min(max(int(rate), 1), 500) }

// CancelResend ends a resend.
func (a *Activities) CancelResend(ctx context.Context, id string) error {
	return a.Resends.Cancel(ctx, id)
}

func logResend(ctx context.Context, r operation.Resend) {
	slog.InfoContext(ctx, "resend.ended", "resend_id", r.ID, "outcome", string(r.State), "read", r.Read, "queued", r.Queued,
		"duration_ms", time.Since(r.StartedAt).Milliseconds())
}
