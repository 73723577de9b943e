package reconcile

import (
	"context"

	"holdfast/event"
	"holdfast/event/operation"
)

// Runs is what Temporal knows.
type Runs interface {
	// ClosedRuns is a page of the runs of events that have ended.
	ClosedRuns(ctx context.Context, page operation.SweepPage) (runs []operation.ClosedRun, next []byte, err error)
	// DeadLetterOf makes the dead letter of a run from its history. It is nil if nothing is left of the run, or if the run has
	// seen to its event itself; unless the database may have been restored to a moment before that.
	DeadLetterOf(ctx context.Context, run operation.ClosedRun, restored bool) (*event.DeadLetter, error)
	// HasRuns says whether there is any run that handles events, open or ended.
	HasRuns(ctx context.Context) (bool, error)
	// LatestRun is the latest run of a workflow; the zero value if there is none.
	LatestRun(ctx context.Context, workflowID string) (operation.LatestRun, error)
}

// Events is what PostgreSQL knows.
type Events interface {
	// Unrecorded are those of the runs whose event is neither processed nor a dead letter.
	Unrecorded(ctx context.Context, runs []operation.ClosedRun) ([]operation.ClosedRun, error)
	// RecordDeadLetter opens the dead letter of an event. The error is an *event.VerdictError if an operator has decided about it,
	// and an *event.DuplicateError if another event has its key.
	RecordDeadLetter(ctx context.Context, d event.DeadLetter) error
}

// Rows are the events that are stored and not processed, by page.
type Rows interface {
	// Unfinished are events that are stored, not processed, and no dead letters, in the order of their IDs, with their bodies.
	Unfinished(ctx context.Context, p operation.RowPage) ([]event.Record, error)
}

// Keys are those of processed events.
type Keys interface {
	// Keyless are those of a page of processed events whose key nobody has, although its dedupe window has not ended; last is the
	// ID that the page has come to.
	Keyless(ctx context.Context, p operation.RowPage) (found []event.Receipt, last string, err error)
	// ClaimKey gives such an event its key.
	ClaimKey(ctx context.Context, r event.Receipt) error
}

// Service compares the two. Its methods may be called at the same time, by several processes, and again.
type Service struct {
	Runs   Runs
	Events Events
	// Rows and Keys are for what starts from the rows; nil where only runs are looked at.
	Rows Rows
	Keys Keys
}
