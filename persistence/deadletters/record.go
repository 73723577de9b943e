package deadletters

import (
	"context"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence/lanes"
	"holdfast/persistence/postgres"
	"holdfast/persistence/writer"
)

// MaxMessage bounds the stored text of a failure, in bytes.
const MaxMessage = 4 << 10

// recordDeadLetter opens the dead letter of an event, or adds a failure to the open one; an exhausted one stays exhausted,
// and with $17 it becomes exhausted. It does nothing if the event has been processed since the failure (a late attempt must
// not undo a rescue), if this run has recorded it already, or if there is a decision about the event. The failure has the
// clock of the run, processed_at that of the database: clocks that differ by more than the time between two runs of one
// event can at worst leave a dead letter open whose replay changes nothing, or hide the failure of a run started on an event
// that had been processed.
var recordDeadLetter = `
INSERT INTO dead_letters AS d (
       event_id, provider, key, type, receipt, raw_body, step, error_class, error_code, error_message, attempts,
       first_failed_at, last_failed_at, workflow_id, run_id, source, rule, state)
SELECT $1::uuid, $2, $3, $4, $5::json,
       coalesce(body, ''), $7, CASE WHEN is_lost THEN '` + string(event.ClassRejected) + `' ELSE $8 END,
       CASE WHEN is_lost THEN '` + event.CodeBodyLost + `' ELSE $9 END, CASE WHEN is_lost THEN $19 ELSE $10 END, $11::integer,
       $12::timestamptz, $12::timestamptz, $13, $14, $15, $16, CASE WHEN $17::boolean THEN 'exhausted' ELSE 'open' END
  FROM (SELECT body, octet_length(body) > 0 IS NOT TRUE AND $19::text IS NOT NULL AS is_lost
          FROM (SELECT CASE WHEN $18::text IS NULL THEN $6::bytea ELSE ` + largeBody + ` END AS body OFFSET 0) AS read) AS found
 WHERE NOT EXISTS (SELECT FROM decisions WHERE event_id = $1::uuid)
   AND NOT EXISTS (SELECT FROM events WHERE id = $1::uuid AND processed_at >= $12::timestamptz)
   AND NOT EXISTS (SELECT FROM dead_letters WHERE event_id = $1::uuid AND subscription_id = 0 AND run_id = $14)
ON CONFLICT (event_id, subscription_id) WHERE state IN ('open', 'replaying', 'exhausted') DO UPDATE
   SET state = CASE WHEN 'exhausted' IN (d.state, excluded.state) THEN 'exhausted' ELSE 'open' END,
       replaying_since = NULL, replaying_run_id = NULL, next_replay_at = NULL, failures = d.failures + 1,
       type = excluded.type, source = excluded.source, receipt = excluded.receipt,
       raw_body = excluded.raw_body, step = excluded.step,
       error_class = excluded.error_class, error_code = excluded.error_code,
       error_message = excluded.error_message, rule = excluded.rule, attempts = excluded.attempts,
       last_failed_at = excluded.last_failed_at, workflow_id = excluded.workflow_id, run_id = excluded.run_id`

// largeBody is the body of a large event, which is in PostgreSQL already; empty if it is lost.
var largeBody = lanes.LargeBodyOf("$18", "$1")

// largeRow returns the ID of the inbox row with the body of a large event; nil if the dead letter brings the body.
func largeRow(d event.DeadLetter) *string {
	if d.Receipt.Large == nil || len(d.Body) > 0 {
		return nil
	}
	return &d.Receipt.Large.ID
}

// lostText returns the message of a dead letter whose body turns out to be lost; nil if the failure says so, or the event is
// replayed anyway.
func lostText(d event.DeadLetter) *string {
	f := d.Failure
	if largeRow(d) == nil || f.Code == event.CodeBodyLost || f.Code == operation.CodeLost {
		return nil
	}
	text := clipped(d.Receipt.Large.LostText() + "; its failure was " + f.Message)
	return &text
}

func clipped(message string) string { return postgres.Clip(postgres.Clean(message), MaxMessage) }

// markDead makes the event's row, if any, agree with the dead letter that this run has just opened.
const markDead = `
UPDATE events SET status = 'dead', outcome = NULL
 WHERE id = $1::uuid AND status <> 'dead'
   AND EXISTS (SELECT FROM dead_letters
                WHERE event_id = $1::uuid AND subscription_id = 0 AND run_id = $2
                  AND state IN ('open', 'replaying', 'exhausted'))`

// RecordDeadLetter stores what is needed to understand and replay an event that could not be processed: one open row per event,
// which counts its failures, and owns the event's key. Of d it stores Receipt, Body, Run and Failure, and whether its State is
// exhausted. Nothing is stored if the error is an *event.DecisionError, since an operator has decided about the event, or an
// *event.DuplicateError, since the event that owns the key counts.
func (s *Store) RecordDeadLetter(ctx context.Context, d event.DeadLetter) (err error) {
	defer postgres.Annotate(&err, "record dead letter of event "+postgres.Clean(d.Receipt.ID))
	claim, b := writer.NewClaim(d.Receipt), &pgx.Batch{}
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	claim.Queue(b)
	tx, err := s.db.Begin(ctx, b)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	last := &pgx.Batch{}
	refused := settle(ctx, tx, claim, d, last)
	if refused != nil && !writer.IsRefusal(refused) {
		return refused
	}
	if err := tx.Commit(ctx, last); err != nil {
		return err
	}
	return refused
}

// settle queues the dead letter of an event whose key has been claimed. It returns the errors of the claim.
func settle(ctx context.Context, t *postgres.Transaction, c *writer.Claim, d event.DeadLetter, b *pgx.Batch) (err error) {
	if d.Receipt, err = c.Settle(ctx, t); err != nil {
		return err
	}
	return QueueDeadLetter(b, d)
}

// Keep claims the key of an event that could not be processed, and opens its dead letter, in a transaction that goes on. It
// returns the errors of the claim.
func Keep(ctx context.Context, t *postgres.Transaction, d event.DeadLetter) error {
	claim, b := writer.NewClaim(d.Receipt), &pgx.Batch{}
	claim.Queue(b)
	if err := t.Flush(ctx, b); err != nil {
		return err
	}
	if err := settle(ctx, t, claim, d, b); err != nil {
		return err
	}
	return t.Send(ctx, b)
}

// selectDeadLetterID selects the run's own dead letter: the one that its failure has opened, or was added to.
const selectDeadLetterID = `
SELECT max(id) FROM dead_letters WHERE event_id = $1::uuid AND subscription_id = 0 AND run_id = $2`

// DeadLetterID returns the number of the dead letter that a run has recorded; 0 if it has recorded none, since its event was
// processed.
func (s *Store) DeadLetterID(ctx context.Context, eventID, runID string) (int64, error) {
	var id *int64
	err := s.db.QueryRow(ctx, selectDeadLetterID, eventID, postgres.Clean(runID)).Scan(&id)
	if err != nil || id == nil {
		return 0, postgres.Failure("find dead letter of event "+postgres.Clean(eventID), err)
	}
	return *id, nil
}

// QueueDeadLetter requires the event's lock.
func QueueDeadLetter(b *pgx.Batch, d event.DeadLetter) error {
	receipt, err := postgres.ReceiptColumn(d.Receipt)
	if err != nil {
		return err
	}
	r, f, runID := d.Receipt, d.Failure, postgres.Clean(d.Run.RunID)
	b.Queue(recordDeadLetter, r.ID, postgres.Clean(r.Provider), postgres.Clean(r.Key), postgres.Clean(r.Type), receipt,
		postgres.Bytea(d.Body), postgres.Clean(string(f.Step)), postgres.KnownClass(f.Class), postgres.Clean(f.Code),
		clipped(f.Message), f.Attempts, f.At,
		postgres.Clean(d.Run.WorkflowID), runID, postgres.Clean(r.Source), postgres.Clean(f.Rule()),
		d.State == event.DeadLetterExhausted, largeRow(d), lostText(d))
	b.Queue(markDead, r.ID, runID)
	writer.QueueContents(b, r)
	lanes.QueueRemovalOfCopies(b, r)
	return nil
}
