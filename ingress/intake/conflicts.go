package intake

import (
	"context"
	"log/slog"
	"time"

	"holdfast/event"
	"holdfast/event/tally"
	"holdfast/workflows/runs"
)

// ConflictStore records conflicts: that an event had the key of another event but other content.
type ConflictStore interface {
	RecordConflict(ctx context.Context, c event.Conflict) error
}

// conflicts reports events whose key belongs to another event.
type conflicts struct{ store ConflictStore } // nil if no database is configured

// recordTimeout bounds the write of a conflict: the sender waits for it, and the conflict is logged anyway.
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

// countRedelivery counts a redelivered event. Conflicts aren't counted: they are stored as conflicts.
func countRedelivery(ctx context.Context, counter DuplicateCounter, receipt event.Receipt, s runs.Started) {
	if IsNew(s.State) || s.Conflict != nil || s.EventID == receipt.ID {
		return
	}
	if s.Rewritten {
		tally.Rewritten(ctx, receipt.Provider)
	}
	if receipt.IsUndecidable() {
		tally.UndecidableDuplicate(ctx, receipt.Provider)
	}
	if counter != nil {
		counter.Count(event.Duplicate{
			Provider: receipt.Provider, Key: receipt.Key, Owner: s.EventID, At: receipt.ReceivedAt, Rewritten: s.Rewritten,
		})
	}
}
