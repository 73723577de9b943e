package background

import (
	"context"
	"log/slog"
	"time"

	"holdfast/event"
	"holdfast/event/operation"
)

// OperationStore stores the operations of one kind.
type OperationStore[T operation.Any] interface {
	// Read returns an operation with its progress.
	Read(ctx context.Context, id string) (T, error)
	Cancel(ctx context.Context, id string) error
	// Active returns the IDs of the operations that need a workflow.
	Active(ctx context.Context) ([]string, error)
}

// ParsedStore stores operations that parse events: a rebuild parses stored events, an import the events of its file.
type ParsedStore[T operation.Any] interface {
	OperationStore[T]
	// Page parses and writes the next n events or items, and advances past them.
	Page(ctx context.Context, id string, n int, parse event.Parser) (T, error)
}

// ResendStore stores resends and does their pages.
type ResendStore interface {
	OperationStore[operation.Resend]
	// Page reads the next n events, queues the matching ones, and advances past them.
	Page(ctx context.Context, id string, n int) (operation.Resend, error)
}

type paging[T operation.Any] struct {
	store OperationStore[T]
	// size returns the size of a page at a rate.
	size func(rate float64) int
	// page does the next page of a running operation. It only reads any other one.
	page func(ctx context.Context, id string, n int) (T, error)
	// done returns how much of what its rate limits an operation has done.
	done func(T) int64
	// log reports a completed operation.
	log func(context.Context, T)
}

// run does pages for some seconds, at the operation's rate, unless it is paused or has ended. It can be killed at any moment
// and run again.
func (p paging[T]) run(ctx context.Context, id string) (T, error) {
	o, err := p.store.Read(ctx, id)
	if state := o.Common().State; err != nil || state == operation.Completed || state == operation.Paused {
		return o, err // a page of a paused operation would lock its row for nothing; one of a canceled operation ends it
	}
	rate := o.Common().Rate
	pace, size := newPace(rate), p.size(rate)
	for slice := newTimeSlice(ctx); !slice.over(); {
		before := p.done(o)
		if o, err = p.page(ctx, id, size); err != nil {
			return o, err
		}
		if state := o.Common().State; state != operation.Running {
			if state == operation.Completed {
				p.log(ctx, o)
			}
			break
		}
		if err := pace.waitFor(ctx, int(p.done(o)-before)); err != nil {
			return o, err
		}
	}
	return o, nil
}

// RebuildPage parses a rebuild's events again for some seconds.
func (a *Activities) RebuildPage(ctx context.Context, id string) (operation.Rebuild, error) {
	return paging[operation.Rebuild]{
		store: a.Rebuilds, page: a.rebuildPage, size: chunkFor,
		done: func(r operation.Rebuild) int64 { return r.Read }, log: logRebuild,
	}.run(ctx, id)
}

// ImportPage applies lines of an import for some seconds. A page is at most half a second's worth, so that live events are
// processed between two pages.
func (a *Activities) ImportPage(ctx context.Context, id string) (operation.Import, error) {
	return paging[operation.Import]{
		store: a.Imports,
		page: func(ctx context.Context, id string, n int) (operation.Import, error) {
			return a.Imports.Page(ctx, id, n, a.Parse)
		},
		size: func(rate float64) int { return min(max(int(rate/2), 1), 200) },
		done: func(i operation.Import) int64 { return i.Read }, log: logImport,
	}.run(ctx, id)
}

// ResendPage queues deliveries of a resend for some seconds. A page is at most a second's worth: events that don't match are read
// but cause no delivery.
func (a *Activities) ResendPage(ctx context.Context, id string) (operation.Resend, error) {
	return paging[operation.Resend]{
		store: a.Resends, page: a.Resends.Page, size: func(rate float64) int { return min(max(int(rate), 1), 500) },
		done: func(r operation.Resend) int64 { return r.Queued }, log: logResend,
	}.run(ctx, id)
}

// CancelRebuild ends a rebuild.
func (a *Activities) CancelRebuild(ctx context.Context, id string) error {
	return a.Rebuilds.Cancel(ctx, id)
}

// CancelImport ends an import.
func (a *Activities) CancelImport(ctx context.Context, id string) error {
	return a.Imports.Cancel(ctx, id)
}

// CancelResend ends a resend.
func (a *Activities) CancelResend(ctx context.Context, id string) error {
	return a.Resends.Cancel(ctx, id)
}

func logRebuild(ctx context.Context, r operation.Rebuild) {
	slog.InfoContext(ctx, "rebuild.ended", "rebuild_id", r.ID, "outcome", string(r.State), "dry_run", r.DryRun, "read", r.Read,
		"changed", r.Changed, "unreadable", r.Unreadable, "splits", r.Splits, "skipped", r.Skipped, "entities", r.Entities,
		"duration_ms", time.Since(r.StartedAt).Milliseconds())
}

func logImport(ctx context.Context, i operation.Import) {
	sum := i.Counts.Sum()
	slog.InfoContext(ctx, "import.ended", "import_id", i.ID, "outcome", string(i.State), "read", i.Read, "new", sum.New,
		"existing", sum.There, "unreadable", sum.Unreadable, "failed", sum.Failed,
		"duration_ms", time.Since(i.StartedAt).Milliseconds())
}

func logResend(ctx context.Context, r operation.Resend) {
	slog.InfoContext(ctx, "resend.ended", "resend_id", r.ID, "outcome", string(r.State), "read", r.Read, "queued", r.Queued,
		"duration_ms", time.Since(r.StartedAt).Milliseconds())
}
