package intake

import (
	"context"
	"log/slog"
	"time"

	"holdfast/event"
	"holdfast/event/tally"
	"holdfast/workflows/runs"
)

// ConflictStore stores events whose key belongs to another event.
type ConflictStore interface {
	RecordConflict(ctx context.Context, c event.Conflict) error
}

// conflicts reports events whose key belongs to another event.
type conflicts struct{ store ConflictStore } // nil where no database is configured

// recordTimeout bounds the write of a conflict: the sender waits for it, and the log has the conflict in any case.
const recordTimeout = 200 * time.Millisecond

// report counts, logs and records a conflict.
func (c conflicts) report(ctx context.Context, found *event.Conflict) {
	if found == nil {
		return
	}
	tally.Conflict(ctx, found.Provider)
	unrecorded := ""
	if c.store != nil {
		limited, cancel := runs.WithTimeout(ctx, recordTimeout)
		defer cancel()
		if err := c.store.RecordConflict(limited, *found); err != nil {
			unrecorded = err.Error()
		}
	}
	slog.WarnContext(ctx, "event.conflict", "provider", found.Provider, "source", found.Source,
		"workflow_id", event.WorkflowID(found.Provider, found.Key), "event_id", found.EventID, "owner_id", found.Owner,
		"fingerprint", found.Fingerprint, "owner_fingerprint", found.OwnerFingerprint, "error", unrecorded)
}
