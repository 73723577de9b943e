package imports

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence/deadletters"
	"holdfast/persistence/postgres"
	"holdfast/persistence/writer"
)

// restoreEvents gives back to rows what the writer cannot know: what they were in the archive.
const restoreEvents = `
UPDATE events AS e
   SET status = was.status, persisted_at = was.persisted_at, processed_at = was.processed_at, run_id = was.run_id
  FROM unnest($1::uuid[], $2::text[], $3::timestamptz[], $4::timestamptz[], $5::text[])
       AS was (id, status, persisted_at, processed_at, run_id)
 WHERE e.id = was.id`

// restored is what a thing was in the archive from which it comes.
type restored struct {
	item    operation.ImportItem
	letter  *deadletters.Restored // nil for an event
	isThere bool                  // the dead letter is
}

// parsedOf is what an event that was given up says of itself: it changes nothing.
func parsedOf(r event.Record) event.Parsed {
	return event.Parsed{Type: r.Type, OccurredAt: r.OccurredAt, OccurredAtMissing: r.OccurredAtMissing}
}

// restoreLetter brings a dead letter that is closed, beside the key of its event.
func (t *thing) restoreLetter(item operation.ImportItem) {
	if t.restored.letter, t.failed = deadletters.NewRestored(item); t.failed == nil {
		t.brought, t.failed = writer.NewBrought(item, event.Parsed{})
	}
}

// lookForLetters notes which of the dead letters that come from an archive are there, or may not come back. The subscription of a
// delivery has to be there by its name.
func (p *page) lookForLetters(ctx context.Context, tx *postgres.Transaction) error {
	b := &pgx.Batch{}
	for i := range p.things {
		t := &p.things[i]
		if t.restored == nil || t.restored.letter == nil || t.failed != nil {
			continue
		}
		t.restored.letter.QueueLook(b, func(isThere, isKnown bool) {
			if t.restored.isThere = isThere; !isThere && !isKnown {
				t.failed = event.Rejectf("unknown_subscription", "there is no subscription of the name that the dead letter is of")
				t.brought = nil
			}
		})
	}
	if b.Len() == 0 {
		return nil
	}
	return tx.Send(ctx, b)
}

// queueRestored makes what is new what it was.
func queueRestored(b *pgx.Batch, things []thing) {
	var ids, statuses, runs []string
	var persisted []time.Time
	var processed []*time.Time
	for _, t := range things {
		switch {
		case t.restored == nil || t.failed != nil || !t.isNew():
		case t.restored.letter != nil:
			t.restored.letter.Queue(b)
		default:
			was := t.restored.item.Stored.Event
			ids, runs = append(ids, t.restored.item.Receipt.ID), append(runs, was.Run.RunID)
			statuses = append(statuses, string(was.Status))
			persisted, processed = append(persisted, was.PersistedAt), append(processed, was.ProcessedAt)
		}
	}
	if len(ids) > 0 {
		b.Queue(restoreEvents, ids, statuses, persisted, processed, runs)
	}
}
