package deadletters

import (
	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence/postgres"
)

const (
	// findRestored reports whether the dead letter exists or its event was expunged, and whether its subscription exists. A dead
	// letter has no identity across systems, so it is found by its event, subscription and the time of its first failure.
	findRestored = `
SELECT EXISTS (SELECT FROM dead_letters AS d
                WHERE d.event_id = $1::uuid AND d.first_failed_at = $2::timestamptz
                  AND d.subscription_id = coalesce((` + subscriptionOfName + `), 0))
       OR EXISTS (SELECT FROM decisions WHERE event_id = $1::uuid AND decision = 'expunged'),
       $3 = '' OR EXISTS (` + subscriptionOfName + `)`

	subscriptionOfName = `SELECT s.id FROM subscriptions AS s WHERE s.name = $3 AND s.deleted_at IS NULL`

	// insertRestored checks again for an expunge, now that the transaction holds the event's lock.
	insertRestored = `
INSERT INTO dead_letters (
       event_id, first_failed_at, subscription_id, last_failed_at, provider, key, type, receipt, raw_body, state, step,
       error_class, error_code, error_message, attempts, failures, workflow_id, run_id, source, rule, resolved_at,
       resolved_run_id, discarded_at, discarded_by, discard_reason, replaced_by, unread_receipt, auto_attempts,
       notified_failures, duplicate_of)
SELECT $1::uuid, $2::timestamptz, coalesce((` + subscriptionOfName + `), 0), $4::timestamptz, $5, $6, $7, $8::json,
       $9::bytea, $10, $11, $12, $13, $14, $15::integer, $16::integer, $17, $18, $19, $20, $21::timestamptz, $22,
       $23::timestamptz, nullif($24, ''), nullif($25, ''), nullif($26, '')::uuid, $27::bytea, $28::integer, $16::integer,
       nullif($29, '')::uuid
 WHERE NOT EXISTS (SELECT FROM decisions WHERE event_id = $1::uuid AND decision = 'expunged')`
)

// Restored is a closed dead letter that an import restores from an archive, with its columns encoded.
type Restored struct{ columns []any }

// NewRestored encodes the dead letter.
func NewRestored(item operation.ImportItem) (*Restored, error) {
	r, d, f := item.Receipt, item.Stored.DeadLetter, item.Stored.DeadLetter.Failure
	receipt, err := postgres.ReceiptColumn(r)
	if err != nil {
		return nil, err
	}
	var resolvedRun *string
	if d.ResolvedAt != nil {
		resolvedRun = &d.ResolvedRun
	}
	return &Restored{[]any{
		r.ID, d.FirstFailed, postgres.Clean(d.Subscription), d.LastFailed, postgres.Clean(r.Provider), postgres.Clean(r.Key),
		postgres.Clean(r.Type), receipt, postgres.Bytea(item.Body), string(d.State), string(f.Step), postgres.KnownClass(f.Class),
		postgres.Clean(f.Code), postgres.Clip(postgres.Clean(f.Message), MaxMessage), f.Attempts, d.Failures,
		postgres.Clean(d.Run.WorkflowID), postgres.Clean(d.Run.RunID), postgres.Clean(r.Source), postgres.Clean(f.Rule()),
		d.ResolvedAt, resolvedRun, d.DiscardedAt, postgres.Clean(d.DiscardedBy), postgres.Clean(d.DiscardReason), d.ReplacedBy,
		item.Stored.UnreadReceipt, d.AutoAttempts, d.DuplicateOf,
	}}, nil
}

// QueueFind queries whether it exists, or may not be restored since its event was expunged, and whether its subscription exists.
func (d *Restored) QueueFind(b *pgx.Batch, found func(exists, isKnown bool)) {
	b.Queue(findRestored, d.columns[:3]...).QueryRow(func(row pgx.Row) error {
		var exists, isKnown bool
		if err := row.Scan(&exists, &isKnown); err != nil {
			return err
		}
		found(exists, isKnown)
		return nil
	})
}

// Queue inserts it.
func (d *Restored) Queue(b *pgx.Batch) { b.Queue(insertRestored, d.columns...) }

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
