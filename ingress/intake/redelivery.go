package intake

import (
	"context"

	"holdfast/event"
	"holdfast/event/tally"
	"holdfast/workflows/runs"
)

// countRedelivery counts a redelivered event. If it turns out to be a different event, it is a conflict and stored as one.
func countRedelivery(ctx context.Context, counter DuplicateCounter, receipt event.Receipt, s runs.Started) {
	if IsNew(s.State) || s.Conflict != nil || s.EventID == receipt.ID {
		return
	}
	if receipt.IsUndecidable() {
		tally.UndecidableDuplicate(ctx, receipt.Provider)
	}
	if counter != nil {
		counter.Count(event.Duplicate{Provider: receipt.Provider, Key: receipt.Key, Owner: s.EventID, At: receipt.ReceivedAt})
	}
}
