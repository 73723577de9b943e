package operations

import (
	"context"
	"time"

	"holdfast/activities/reconcile"
	"holdfast/event"
	"holdfast/event/operation"
)

// RunReader reads runs from Temporal.
type RunReader interface {
	reconcile.Runs
	// OpenRuns returns up to limit runs of events that were started before a time and are still open, and the number of all.
	OpenRuns(ctx context.Context, before time.Time, limit int) (runs []operation.OpenRun, total int, err error)
}

// SweepStore compares runs with rows.
type SweepStore interface {
	// Unrecorded returns those of the runs whose event is neither processed nor a dead letter.
	Unrecorded(ctx context.Context, runs []operation.ClosedRun) ([]operation.ClosedRun, error)
	// Unfinished returns events that are stored, unprocessed and no dead letters, by ID, with their bodies.
	Unfinished(ctx context.Context, p operation.RowPage) ([]event.Record, error)
	// StoredEvents returns those of the event IDs that have a row.
	StoredEvents(ctx context.Context, ids []string) (map[string]bool, error)
	// StaleRedrives returns the first n dead letters with an ID above after that have long been redriving.
	StaleRedrives(ctx context.Context, after int64, n int) ([]event.DeadLetter, error)
	// ReleaseStale returns one of them to the waiting state.
	ReleaseStale(ctx context.Context, id int64) error
}
