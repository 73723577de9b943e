package persistence

import (
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"holdfast/event"
)

// storeEvent writes the row of an event whose key it owns, or that has a row already. A retry, a reset and a replay
// land on the same row: until the event has been processed the bytes of the latest run win, from then on the row
// stays.
const storeEvent = `
INSERT INTO events AS e (
       id, provider, source, key, key_from, type, status, raw_body, headers, receipt, payload, payload_note,
       occurred_at, occurred_at_missing, received_at, workflow_id, run_id, request_id, correlation_id)
SELECT $1::uuid, $2, $3, $4, $5, $6,
       CASE WHEN EXISTS (SELECT FROM dead_letters
                          WHERE event_id = $1::uuid AND state IN ('open', 'redriving', 'exhausted'))
            THEN 'dead' ELSE 'persisted' END,
       $7::bytea, $8::jsonb, $9::json, $10::jsonb, $11, $12::timestamptz, $13::boolean, $14::timestamptz,
       $15, $16, $17, $18
 WHERE EXISTS (SELECT FROM idempotency_keys WHERE provider = $2 AND key = $4 AND event_id = $1::uuid)
    OR EXISTS (SELECT FROM events WHERE id = $1::uuid)
ON CONFLICT (id) DO UPDATE
   SET source = excluded.source, key_from = excluded.key_from, type = excluded.type,
       raw_body = excluded.raw_body, headers = excluded.headers, receipt = excluded.receipt,
       payload = excluded.payload, payload_note = excluded.payload_note, occurred_at = excluded.occurred_at,
       occurred_at_missing = excluded.occurred_at_missing, received_at = excluded.received_at,
       workflow_id = excluded.workflow_id, run_id = excluded.run_id,
       request_id = excluded.request_id, correlation_id = excluded.correlation_id
 WHERE e.status <> 'processed'`

// finishEvent marks an event processed, as the latest parse understands it. The time of the first success stays.
const finishEvent = `
UPDATE events
   SET processed_at = CASE WHEN status = 'processed' THEN processed_at ELSE clock_timestamp() END,
       status = 'processed', outcome = $2, type = $3, occurred_at = $4, occurred_at_missing = $5,
       workflow_id = $6, run_id = $7
 WHERE id = $1::uuid`

// eventRow are the columns of an event that have to be encoded.
type eventRow struct {
	body             []byte
	headers, receipt string
	payload          []byte // nil where there is no projection
	note             string
}

func newEventRow(r event.Receipt, body []byte) (row eventRow, err error) {
	if row.headers, err = headersColumn(r); err != nil {
		return row, err
	}
	r.Headers = nil // a column of their own
	if row.receipt, err = receiptColumn(r); err != nil {
		return row, err
	}
	if row.body = body; body == nil {
		row.body = []byte{}
	}
	row.payload, row.note = project(body)
	return row, nil
}

func queueEvent(b *pgx.Batch, r event.Receipt, body []byte, p event.Parsed, run event.Run) error {
	row, err := newEventRow(r, body)
	if err != nil {
		return err
	}
	b.Queue(storeEvent, r.ID, clean(r.Provider), clean(r.Source), clean(r.Key), string(r.KeyFrom), clean(p.Type),
		row.body, row.headers, row.receipt, row.payload, row.note, p.OccurredAt, p.OccurredAtMissing, r.ReceivedAt,
		clean(run.WorkflowID), clean(run.RunID), clean(r.RequestID), clean(r.CorrelationID))
	return nil
}

// queueFinish ends the work on an event: its row, if there is one, and its open dead letter, however it was rescued.
func queueFinish(b *pgx.Batch, r event.Receipt, p event.Parsed, run event.Run, stored *bool) {
	b.Queue(finishEvent, r.ID, string(outcomeOf(p)), clean(p.Type), p.OccurredAt, p.OccurredAtMissing,
		clean(run.WorkflowID), clean(run.RunID)).
		Exec(func(tag pgconn.CommandTag) error { *stored = tag.RowsAffected() > 0; return nil })
	b.Queue(resolveDeadLetter, r.ID, clean(run.RunID))
}

// outcomeOf is how an event that is finished with p ends.
func outcomeOf(p event.Parsed) event.Outcome {
	if p.Outcome == event.OutcomeIgnored {
		return event.OutcomeIgnored
	}
	return event.OutcomeProcessed
}
