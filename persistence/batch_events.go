package persistence

import (
	"context"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
)

var (
	eventsTable        = pgx.Identifier{"events"}
	copiedEventColumns = []string{
		"id", "provider", "source", "key", "key_from", "type", "status", "outcome", "raw_body", "headers", "receipt", "payload",
		"payload_note", "occurred_at", "occurred_at_missing", "received_at", "processed_at", "workflow_id", "run_id",
		"request_id", "correlation_id",
	}

	linksTable        = pgx.Identifier{"event_entities"}
	copiedLinkColumns = []string{
		"event_id", "provider", "kind", "external_id", "position", "op", "change", "version", "occurred_at",
	}
)

// copyEvents writes events that own their key, have no row yet and end here: their entities are folded in the same
// transaction. A row that is there all the same is a conflict, and the event leaves the batch.
func (t *batch) copyEvents(ctx context.Context, events []*batched) error {
	workflowID, runID, now := clean(t.run.WorkflowID), clean(t.run.RunID), t.now()
	_, err := t.conn.CopyFrom(ctx, eventsTable, copiedEventColumns, pgx.CopyFromSlice(len(events), func(i int) ([]any, error) {
		e := events[i]
		r, p, row := &e.Receipt, &e.parsed, &e.row
		return []any{
			r.ID, clean(r.Provider), clean(r.Source), clean(r.Key), string(r.KeyFrom), clean(p.Type),
			string(event.StatusProcessed), string(e.Outcome), row.body, row.headers, row.receipt, row.payload, row.note,
			p.OccurredAt, p.OccurredAtMissing, r.ReceivedAt, now, workflowID, runID,
			clean(r.RequestID), clean(r.CorrelationID),
		}, nil
	}))
	return err
}

// copyLinks writes what the events change. None of them has links yet.
func (t *batch) copyLinks(ctx context.Context, events []*batched) error {
	var rows [][]any
	for _, e := range events {
		for i, c := range e.changes {
			rows = append(rows, []any{
				e.Receipt.ID, clean(e.Receipt.Provider), c.Change.Kind, c.Change.ExternalID, i + 1, string(c.Change.Op),
				c.Change.State, c.Change.Version, e.parsed.OccurredAt,
			})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	_, err := t.conn.CopyFrom(ctx, linksTable, copiedLinkColumns, pgx.CopyFromRows(rows))
	return err
}
