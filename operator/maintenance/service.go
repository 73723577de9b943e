package maintenance

import (
	"context"
	"io"
	"time"

	"holdfast/activities/reconcile"
	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/event/retention"
)

// Service purges, expunges and reconciles. Its methods can be stopped at any time and repeated, also by several processes.
type Service struct {
	// Keep returns the retention times.
	Keep   func(context.Context) (retention.Times, error)
	Purger func() (Purger, error)
	Events EventStore
	Runs   RunStore
	// Archive returns the archive; nil if there is none.
	Archive func() (Archive, error)
	// History reads from the archive how events changed some entities.
	History func(io.Reader, []event.Entity) (retention.Archived, error)
	Stores  *reconcile.Service
	Audit   AuditLog
}

// Purger deletes outdated data, after it has archived it if there is an archive.
type Purger interface {
	// PurgeBatchBy deletes a batch of data stored before a time; 0 means that none is left.
	PurgeBatchBy(ctx context.Context, kind retention.Kind, before time.Time, by oversight.Actor) (int64, error)
}

// EventStore removes events.
type EventStore interface {
	// WorkflowsOf returns the workflows that have run an event, or event.ErrNotFound.
	WorkflowsOf(ctx context.Context, id string) ([]string, error)
	// PlanExpunge counts what an expunge would remove, given the archived changes of entities that can't be folded without them.
	PlanExpunge(ctx context.Context, of retention.Archived, id string) (retention.Expunged, error)
	// ExpungeWith removes an event's content, after its runs were deleted.
	ExpungeWith(ctx context.Context, of retention.Archived, id string, runs int, by oversight.Actor) (retention.Expunged, error)
	Entity(ctx context.Context, ref event.EntityRef) (event.Entity, error)
}

// RunStore deletes the runs of events.
type RunStore interface {
	// Delete deletes all runs of a workflow and returns their number.
	Delete(ctx context.Context, workflowID string) (int, error)
}

// Archive reads the events that were purged.
type Archive interface {
	Read(ctx context.Context) (io.ReadCloser, error)
	// Clean removes expunged events from the files.
	Clean(ctx context.Context) error
}

// AuditLog records what operators do.
type AuditLog interface {
	Audit(ctx context.Context, e oversight.AuditEntry) error
}
