package intake

import (
	"context"

	"holdfast/event"
	"holdfast/event/tally"
	"holdfast/runs"
)

// countRepeat counts an event that came again. One that is another event all the same is a conflict, and is kept as that.
func countRepeat(ctx context.Context, counter DuplicateCounter, receipt event.Receipt, s runs.Started) {
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
