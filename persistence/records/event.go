package records

import (
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

// Columns are the columns of an event's row that Scan reads.
const Columns = `
SELECT receipt, headers, type, status, coalesce(outcome, ''), workflow_id, run_id,
       occurred_at, occurred_at_missing, persisted_at, processed_at, payload_note, coalesce(possible_duplicate_of::text, '')`

// Scan reads the row of an event without its body, and any further selected columns.
func Scan(row pgx.Row, more ...any) (r event.Record, err error) {
	var receipt, headers []byte
	columns := []any{
		&receipt, &headers, &r.Type, &r.Status, &r.Outcome, &r.Run.WorkflowID, &r.Run.RunID,
		&r.OccurredAt, &r.OccurredAtMissing, &r.PersistedAt, &r.ProcessedAt, &r.PayloadNote,
		&r.PossibleDuplicateOf,
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
	r.OccurredAt, r.PersistedAt, r.ProcessedAt = r.OccurredAt.UTC(), r.PersistedAt.UTC(), postgres.UTC(r.ProcessedAt)
	return r, nil
}
