package operations

import (
	"context"
	"log/slog"
	"time"

	"holdfast/event"
	"holdfast/event/operation"
)

// ImportStore stores imports and applies their pages.
type ImportStore interface {
	OperationStore[operation.Import]
	// Page applies the next n items of an import, whose events parse parses, and advances past them.
	Page(ctx context.Context, id string, n int, parse event.Parser) (operation.Import, error)
}

// ImportPage applies lines of an import for some seconds.
func (a *Activities) ImportPage(ctx context.Context, id string) (operation.Import, error) {
	return paging[operation.Import]{
		store: a.Imports, size: importChunk, done: func(i operation.Import) int64 { return i.Read }, log: logImport,
		page: func(ctx context.Context, id string, n int) (operation.Import, error) {
			return a.Imports.Page(ctx, id, n, a.Parse)
		},
	}.run(ctx, id)
}

// importChunk is at most half a second's worth, so that live events get a turn between two pages.
func importChunk(rate float64) int { return min(max(int(rate/2), 1), 200) }

// CancelImport ends an import.
func (a *Activities) CancelImport(ctx context.Context, id string) error {
	return a.Imports.Cancel(ctx, id)
}

func logImport(ctx context.Context, i operation.Import) {
	sum := i.Counts.Sum()
	slog.InfoContext(ctx, "import.ended", "import_id", i.ID, "outcome", string(i.State), "read", i.Read, "new", sum.New,
		"existing", sum.There, "unreadable", sum.Unreadable, "failed", sum.Failed, "duration_ms", time.Since(i.StartedAt).Milliseconds())
}
