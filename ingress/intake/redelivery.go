package intake

import (
	"context"

	"holdfast/event"
)

// Redeliveries reports which events have the key and the content of an event in the database: none while it doesn't answer. It
// commits nothing.
func (i *Intake) Redeliveries(ctx context.Context, events []event.Received) []bool {
	known := make([]bool, len(events))
	if i.Owners == nil || len(events) == 0 || i.inbox.isDown() {
		return known
	}
	receipts := make([]event.Receipt, len(events))
	for n, e := range events {
		receipts[n] = e.Receipt
	}
	_, _ = i.owners.Execute(func() (bool, error) {
		limited, cancel := context.WithTimeout(ctx, ownersTimeout)
		defer cancel()
		owners, err := i.Owners.Owners(limited, receipts)
		if err != nil {
			return false, err
		}
		for n, o := range owners {
			known[n] = o.ID != "" && o.Fingerprint == events[n].Fingerprint && !events[n].OutsideWindowOf(o.ReceivedAt)
		}
		return true, nil
	})
	return known
}
