package deadletters

import (
	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence/postgres"
)

// importDeadLetter opens the dead letter of an event that another system could not process, with its failure there.
const importDeadLetter = `
INSERT INTO dead_letters (
       event_id, provider, key, type, receipt, raw_body, state, step, error_class, error_code, error_message, attempts,
       first_failed_at, last_failed_at, workflow_id, run_id, source, rule)
VALUES ($1::uuid, $2, $3, $4, $5::json, $6::bytea, $7, $8, $9, $10, $11, $12::integer,
       $13::timestamptz, $14::timestamptz, $15, '', $16, $17)
    ON CONFLICT DO NOTHING`

// Imported is an imported dead letter, with its columns encoded.
type Imported struct{ columns []any }

// NewImported encodes the dead letter of an event with its original failure.
func NewImported(item operation.ImportItem, f event.Failure) (*Imported, error) {
	r, state, first := item.Receipt, event.DeadLetterOpen, f.At
	receipt, err := postgres.ReceiptColumn(r)
	if err != nil {
		return nil, err
	}
	if t := item.Failure; t != nil {
		first = t.FirstFailedAt
		if t.Exhausted {
			state = event.DeadLetterExhausted
		}
	}
	return &Imported{[]any{
		r.ID, postgres.Clean(r.Provider), postgres.Clean(r.Key), postgres.Clean(r.Type), receipt, postgres.Bytea(item.Body),
		string(state), string(f.Step), postgres.KnownClass(f.Class), postgres.Clean(f.Code),
		postgres.Clip(postgres.Clean(f.Message), MaxMessage), f.Attempts, first.UTC(), f.At.UTC(),
		postgres.Clean(r.WorkflowID()), postgres.Clean(r.Source), postgres.Clean(f.Rule()),
	}}, nil
}

// Queue opens it. The transaction holds the event's lock, and has claimed its key.
func (i *Imported) Queue(b *pgx.Batch) { b.Queue(importDeadLetter, i.columns...) }
