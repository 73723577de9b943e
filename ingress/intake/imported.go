package intake

import (
	"context"
	"slices"
	"time"

	"holdfast/event"
	"holdfast/workflows/runs"
)

// OwnerStore finds the events that own keys.
type OwnerStore interface {
	// Owners returns the owners of the events' keys, in the same order; the ID is "" if a key has none.
	Owners(ctx context.Context, rs []event.Receipt) ([]event.Owner, error)
}

// ownersTimeout bounds a look-up of owners: the sender waits for it, and its events are durable already.
const ownersTimeout = 200 * time.Millisecond

// answerImported corrects the answer about committed events that repeat an imported one. Only the answer depends
// on it: while PostgreSQL is slow or down, they count as accepted, and their runs find that they are duplicates.
func (i *Intake) answerImported(ctx context.Context, events []event.Received, all []runs.Started) {
	if i.Owners == nil || len(all) == 0 || i.inbox.isDown() {
		return
	}
	if recent, _ := i.ImportedProviders(); !slices.Contains(recent, events[0].Provider) {
		return
	}
	var receipts []event.Receipt
	var places []int
	for n, s := range all {
		if s.Conflict == nil && s.State != runs.StateProcessed && s.State != runs.StateDead {
			receipts, places = append(receipts, events[n].Receipt), append(places, n)
		}
	}
	if len(receipts) == 0 {
		return
	}
	_, _ = i.owners.Execute(func() (bool, error) {
		limited, cancel := context.WithTimeout(ctx, ownersTimeout)
		defer cancel()
		owners, err := i.Owners.Owners(limited, receipts)
		for n, o := range owners {
			all[places[n]] = answerOwned(events[places[n]], all[places[n]], o)
		}
		return err == nil, err
	})
}

// answerOwned returns the answer about an event whose key o owns. An event whose content is known to differ keeps its answer: its
// run decides. If only the key of the owner is known, the event keeps its ID, which leads to that reason.
func answerOwned(r event.Received, s runs.Started, o event.Owner) runs.Started {
	if o.ID == "" || o.ID == s.EventID || o.ID == r.ID || r.OutsideWindowOf(o.ReceivedAt) ||
		r.ConflictWith(o.ID, o.Fingerprint) != nil {
		return s
	}
	if o.Status != "" || o.DeadLetterID != 0 {
		s.EventID = o.ID
	}
	s.DeadLetterID = o.DeadLetterID
	switch {
	case o.DeadLetterID != 0 && !r.RejectRedelivery: // the run replays it
	case o.DeadLetterID != 0, o.Status == event.StatusDead:
		s.State = runs.StateDead
	case o.Status == event.StatusPersisted:
		s.State = runs.StateProcessing
	default:
		s.State = runs.StateProcessed
	}
	return s
}
