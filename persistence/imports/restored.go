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

// restoreEvents restores archived values that the writer doesn't set.
const restoreEvents = `
UPDATE events AS e
   SET status = was.status, persisted_at = was.persisted_at, processed_at = was.processed_at, run_id = was.run_id
  FROM (SELECT * FROM unnest($1::uuid[], $2::text[], $3::timestamptz[], $4::timestamptz[], $5::text[])
                   AS was (id, status, persisted_at, processed_at, run_id)
         CROSS JOIN LATERAL (SELECT ctid AS place FROM events WHERE id = was.id OFFSET 0) AS here) AS was
 WHERE e.ctid = was.place`

// restored holds the archived values of an item.
type restored struct {
	item   operation.ImportItem
	letter *deadletters.Restored // nil for an event
	exists bool                  // the dead letter exists
}

// parsedOf returns the parse of a discarded event: it changes nothing.
func parsedOf(r event.Record) event.Parsed {
	return event.Parsed{Type: r.Type, OccurredAt: r.OccurredAt, OccurredAtMissing: r.OccurredAtMissing}
}

// restoreLetter adds a closed dead letter, which claims the key of its event.
func (t *importItem) restoreLetter(item operation.ImportItem) {
	if t.restored.letter, t.failed = deadletters.NewRestored(item); t.failed == nil {
		t.imported, t.failed = writer.NewImported(item, event.Parsed{})
	}
}

// findLetters checks which of the archived dead letters exist, or may not be restored. The subscription of a delivery must
// exist, by name.
func (p *page) findLetters(ctx context.Context, tx *postgres.Transaction) error {
	b := &pgx.Batch{}
	for i := range p.items {
		t := &p.items[i]
		if t.restored == nil || t.restored.letter == nil || t.failed != nil {
			continue
		}
		t.restored.letter.QueueFind(b, func(exists, isKnown bool) {
			if t.restored.exists = exists; !exists && !isKnown {
				t.failed = event.Rejectf("unknown_subscription", "there is no subscription of the name that the dead letter is of")
				t.imported = nil
			}
		})
	}
	if b.Len() == 0 {
		return nil
	}
	return tx.Send(ctx, b)
}

func queueRestored(b *pgx.Batch, items []importItem) {
	var ids, statuses, runs []string
	var persisted []time.Time
	var processed []*time.Time
	for _, t := range items {
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
