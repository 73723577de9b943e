package operations

import (
	"context"
	"time"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/reconcile"
)

// RunReader reads what Temporal knows of runs.
type RunReader interface {
	reconcile.Runs
	// OpenRuns are up to limit runs of events that were started before a time and are still open, and how many there are.
	OpenRuns(ctx context.Context, before time.Time, limit int) (runs []operation.OpenRun, total int, err error)
}

// SweepStore compares runs with rows.
type SweepStore interface {
	// Unrecorded are those of the runs whose event is neither processed nor a dead letter.
	Unrecorded(ctx context.Context, runs []operation.ClosedRun) ([]operation.ClosedRun, error)
	// Unfinished are events that are stored, not processed, and no dead letters, in the order of their IDs, with their bodies.
	Unfinished(ctx context.Context, p operation.RowPage) ([]event.Record, error)
	// StoredEvents are those of the event IDs that have a row.
	StoredEvents(ctx context.Context, ids []string) (map[string]bool, error)
	// StaleRedrives returns the first n dead letters with an ID above after that have been redriving for long.
	StaleRedrives(ctx context.Context, after int64, n int) ([]event.DeadLetter, error)
	// ReleaseStale lets one of them wait again.
	ReleaseStale(ctx context.Context, id int64) error
}
