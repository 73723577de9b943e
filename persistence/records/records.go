package records

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

// Columns are the columns of an event's row that Scan reads.
const Columns = `
SELECT receipt, headers, key, type, status, coalesce(outcome, ''), workflow_id, run_id,
       occurred_at, occurred_at_missing, persisted_at, processed_at, payload_note, coalesce(possible_duplicate_of::text, ''),
       omitted`

// Scan reads the row of an event without its body, and any further selected columns.
func Scan(row pgx.Row, more ...any) (r event.Record, err error) {
	var receipt, headers []byte
	var key string
	columns := []any{
		&receipt, &headers, &key, &r.Type, &r.Status, &r.Outcome, &r.Run.WorkflowID, &r.Run.RunID,
		&r.OccurredAt, &r.OccurredAtMissing, &r.PersistedAt, &r.ProcessedAt, &r.PayloadNote,
		&r.PossibleDuplicateOf, &r.Omitted,
	}
	if err := row.Scan(append(columns, more...)...); err != nil {
		return event.Record{}, err
	}
	if err := json.Unmarshal(receipt, &r.Receipt); err != nil {
		return event.Record{}, fmt.Errorf("decode receipt: %w", err)
	}
	if err := json.Unmarshal(headers, &r.Receipt.Headers); err != nil {
		return event.Record{}, fmt.Errorf("decode headers: %w", err)
	}
	if key != postgres.Clean(r.Receipt.Key) {
		r.CorrectedKey = key
	}
	return r, nil
}

// ErrMalformedReceipt reports an inbox row whose receipt can't be parsed: it was written by hand, or by a newer version.
var ErrMalformedReceipt = &event.Error{
	Class: event.ClassRejected, Code: "malformed_receipt", Text: "this version cannot read the receipt in the inbox",
}

// ReadReceipt reads the receipt of an inbox row. If it can't be parsed, or is that of another event, ok is false, and the receipt
// has only the values of the row's other columns.
func ReadReceipt(raw []byte, workflowID, id, provider string, receivedAt time.Time) (r event.Receipt, ok bool) {
	err := json.Unmarshal(raw, &r)
	if err == nil && r.ID == id && postgres.Clean(r.WorkflowID()) == workflowID {
		return r, true
	}
	_, key, isOurs := event.SplitWorkflowID(workflowID)
	if !isOurs {
		key = workflowID
	}
	return event.Receipt{
		ID: id, Provider: provider, Key: key, KeyFrom: event.KeyFromEvent, ReceivedAt: receivedAt,
	}, false
}
