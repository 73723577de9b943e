package reconcile

import (
	"context"

	"holdfast/event"
	"holdfast/event/operation"
)

// Runs reads runs from Temporal.
type Runs interface {
	// ClosedRuns returns a page of closed runs of events.
	ClosedRuns(ctx context.Context, page operation.SweepPage) (runs []operation.ClosedRun, next []byte, err error)
	// DeadLetterOf builds the dead letter of a run from its history. It returns nil if the run was deleted, or if it has handled its
	// event, unless restored is set.
	DeadLetterOf(ctx context.Context, run operation.ClosedRun, restored bool) (*event.DeadLetter, error)
	// HasRuns reports whether any run of an event exists, open or closed.
	HasRuns(ctx context.Context) (bool, error)
	// LatestRun returns the latest run of a workflow; the zero value if there is none.
	LatestRun(ctx context.Context, workflowID string) (operation.LatestRun, error)
}

// Events reads and writes events in PostgreSQL.
type Events interface {
	// Unrecorded returns the runs whose event is neither processed nor a dead letter.
	Unrecorded(ctx context.Context, runs []operation.ClosedRun) ([]operation.ClosedRun, error)
	// RecordDeadLetter opens the dead letter of an event. The error is an *event.DecisionError if an operator has decided about it,
	// and an *event.DuplicateError if another event owns its key.
	RecordDeadLetter(ctx context.Context, d event.DeadLetter) error
}

// Rows reads unprocessed events.
type Rows interface {
	// Unfinished returns a page of events that are neither processed nor dead letters, ordered by ID, with their bodies.
	Unfinished(ctx context.Context, p operation.RowPage) ([]event.Record, error)
}

// Keys reads and writes keys of processed events.
type Keys interface {
	// Keyless returns the events of a page of processed events whose key is unclaimed although its dedupe window hasn't ended. last
	// is the last ID of the page.
	Keyless(ctx context.Context, p operation.RowPage) (found []event.Receipt, last string, err error)
	// ClaimKey claims the key of such an event.
	ClaimKey(ctx context.Context, r event.Receipt) error
}

// Service compares Temporal and PostgreSQL. Its methods are idempotent and safe for concurrent use, also across processes.
type Service struct {
	Runs   Runs
	Events Events
	// Rows and Keys may be nil if only runs are compared.
	Rows Rows
	Keys Keys
}
