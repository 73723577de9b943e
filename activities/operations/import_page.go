package operations

import (
	"context"
	"log/slog"
	"time"

	"holdfast/event"
	"holdfast/event/operation"
)

// ImportStore keeps imports, and does their pages.
type ImportStore interface {
	// ImportPage applies the next n things of an import, whose events parse reads, and moves on behind them.
	ImportPage(ctx context.Context, id string, n int, parse event.Parser) (operation.Import, error)
	Import(ctx context.Context, id string) (operation.Import, error)
	// CancelImport ends the import.
	CancelImport(ctx context.Context, id string) error
	// ActiveImports are the IDs of those that need a workflow.
	ActiveImports(ctx context.Context) ([]string, error)
}

// ImportPage is one turn of an import: it applies pages for some seconds, at the rate of the import, unless that is paused or has
// ended. It may be killed at any moment and run again.
func (a *Activities) ImportPage(ctx context.Context, id string) (operation.Import, error) {
	i, err := a.Imports.Import(ctx, id)
	if err != nil || i.State != operation.Running && i.State != operation.Canceled {
		return i, err
	}
	pace := newPace(i.Rate)
	for turn := newTurn(ctx); !turn.over(); {
		before := i.Read
		if i, err = a.Imports.ImportPage(ctx, id, importChunk(i.Rate), a.Parse); err != nil {
			return i, err
		}
		if i.State != operation.Running {
			reportImport(ctx, i)
			break
		}
		if err := pace.waitFor(ctx, int(i.Read-before)); err != nil {
			return i, err
		}
	}
	return i, nil
}

// importChunk is at most half a second's worth, so that live events find room between two pages.
func importChunk(rate float64) int { return min(max(int(rate/2), 1), 200) }

// CancelImport ends an import.
func (a *Activities) CancelImport(ctx context.Context, id string) error {
	return a.Imports.CancelImport(ctx, id)
}

func reportImport(ctx context.Context, i operation.Import) {
	if i.State != operation.Completed {
		return
	}
	sum := i.Counts.Sum()
	slog.InfoContext(ctx, "import.ended", "import_id", i.ID, "outcome", string(i.State), "read", i.Read, "new", sum.New,
		"there", sum.There, "unreadable", sum.Unreadable, "failed", sum.Failed, "duration_ms", time.Since(i.StartedAt).Milliseconds())
}
