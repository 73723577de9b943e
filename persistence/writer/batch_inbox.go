package writer

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/postgres"
	"holdfast/persistence/records"
)

const (
	// claimRows skips rows locked by another batch. The index on arrival serves and bounds it.
	claimRows = `
SELECT i.workflow_id, i.receipt, i.event_id::text, i.provider, i.received_at, i.raw_body,
       EXISTS (SELECT FROM (SELECT subscription_id, state FROM dead_letters WHERE workflow_id = i.workflow_id OFFSET 0) AS d
                WHERE d.subscription_id = 0 AND d.state ` + waits + `)
  FROM inbox AS i
 WHERE i.lane = 'bulk'
 ORDER BY i.seq
 LIMIT $1
   FOR UPDATE OF i SKIP LOCKED`

	// lockClaimed names the other lanes, so that no plan reads the whole bulk lane.
	lockClaimed = `
SELECT event_id::text FROM inbox
 WHERE workflow_id = ANY ($1) AND event_id = ANY ($2::uuid[]) AND lane NOT IN ('overflow', 'copy') FOR UPDATE SKIP LOCKED`

	deleteClaimed = `DELETE FROM inbox WHERE workflow_id = ANY ($1) AND event_id = ANY ($2::uuid[])`

	moveToOverflow = `
UPDATE inbox SET lane = 'overflow', due_at = now() WHERE workflow_id = ANY ($1) AND event_id = ANY ($2::uuid[])`

	doneByRun = `
SELECT e.id::text, provider, key, received_at, type, outcome
  FROM (SELECT * FROM events WHERE workflow_id = $1 AND run_id = $2 AND status = 'processed' OFFSET 0) AS e ORDER BY e.id`

	// bulkSpan skips claimed rows. A batch skips the row that it locks itself, so it ends without waiting for the disk.
	bulkSpan = `
SELECT coalesce((SELECT seq FROM inbox WHERE lane = 'bulk' ORDER BY seq LIMIT 1 FOR KEY SHARE SKIP LOCKED), 0),
       coalesce((SELECT max(seq) FROM inbox WHERE lane = 'bulk'), 0)`
)

// batched is an event claimed by a batch: its row is locked until the transaction ends.
type batched struct {
	event.Batched

	workflowID    string // as stored in the inbox
	readable      bool   // whether its receipt can be parsed
	body          []byte
	hasDeadLetter bool // its key has an open dead letter
	write         *write
}

// errKeyBlocked reports that the key has an open dead letter, or that its owner is not processed. The code that starts single
// events decides what a redelivery means then.
var errKeyBlocked = &event.Error{
	Class: event.ClassFailed, Code: "in_trouble", Text: "an event of this key waits for its redelivery or an operator",
}

// errSplits reports that the event is split, which its own run does.
var errSplits = &event.Error{Class: event.ClassFailed, Code: "splits", Text: "the current definition splits the event"}

func (e *batched) leave(why error) { e.Outcome, e.Reason = event.OutcomeLeft, why }

// sharesKey reports whether an earlier event of the batch has a key that the current definition finds in this one, and adds those
// of this one.
func (e *batched) sharesKey(earlier map[string]bool) bool {
	if e.write == nil || e.write.former == nil {
		return false
	}
	for _, k := range e.write.claims() {
		id := event.WorkflowID(k.provider, k.key)
		if id != e.workflowID && earlier[id] {
			return true
		}
		earlier[id] = true
	}
	return false
}

// stay leaves the event in the inbox for another batch.
func (e *batched) stay() { e.Outcome = "" }

// prepare parses the event and encodes its columns: everything that needs no database.
func (e *batched) prepare(parse event.Parser, run event.Run, pageSize int) {
	if err := e.encode(parse, run, pageSize); err != nil {
		e.leave(err)
	}
}

func (e *batched) encode(parse event.Parser, run event.Run, pageSize int) error {
	if !e.readable {
		return records.ErrMalformedReceipt
	}
	if e.hasDeadLetter {
		return errKeyBlocked
	}
	p, err := parse(e.Receipt, e.body)
	if err != nil {
		return err
	}
	if p.Splits > 0 {
		return errSplits
	}
	e.Type, e.Mapping, e.Omitted = p.Type, p.Mapping(), p.Omitted
	if e.write, err = newLive(e.Receipt, e.body, p, run, wholeEvent); err == nil && len(e.write.changes) > pageSize {
		return errManyChanges
	}
	return err
}

// conclude records the outcome that the event has once its transaction commits. Events that aren't plain duplicates leave the
// batch.
func (e *batched) conclude() {
	if e.Reason != nil {
		return
	}
	w := e.write.Written
	if e.write.page.hasNext {
		e.leave(errManyChanges)
		return
	}
	if w.Held != nil {
		e.PossibleDuplicateOf = e.write.newlyHeldFor()
		e.leave(w.Held)
		return
	}
	if w.Decision != nil || w.OwnerWaits || w.Conflict != nil || w.OwnerStatus != "" && w.OwnerStatus != event.StatusProcessed {
		e.leave(errKeyBlocked)
		return
	}
	e.Outcome, e.Owner, e.WithoutEffect = w.Outcome, w.Owner, w.WithoutEffect
	e.PossibleDuplicateOf = w.PossibleDuplicateOf
}

func queueClaim(b *pgx.Batch, limit int, into *[]*batched) {
	b.Queue(claimRows, limit).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			e := &batched{}
			var receipt []byte
			var id, provider string
			var receivedAt time.Time
			if err := rows.Scan(&e.workflowID, &receipt, &id, &provider, &receivedAt, &e.body, &e.hasDeadLetter); err != nil {
				return err
			}
			e.Receipt, e.readable = records.ReadReceipt(receipt, e.workflowID, id, provider, receivedAt)
			*into = append(*into, e)
		}
		return rows.Err()
	})
}

// queueLock locks the rows of events that were claimed before.
func queueLock(b *pgx.Batch, events []*batched, held map[string]bool) {
	workflowIDs, ids := make([]string, len(events)), make([]string, len(events))
	for i, e := range events {
		workflowIDs[i], ids[i] = e.workflowID, e.Receipt.ID
	}
	var id string
	b.Queue(lockClaimed, workflowIDs, ids).Query(postgres.ForEach([]any{&id}, func() { held[id] = true }))
}

// BatchedBy returns the events that a run has processed in batches, as far as the tables still show them: duplicates and events
// that left are gone.
func (s *Store) BatchedBy(ctx context.Context, run event.Run) ([]event.Batched, error) {
	rows := s.db.Rows(ctx, doneByRun, postgres.Clean(run.WorkflowID), postgres.Clean(run.RunID))
	events, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e event.Batched, err error) {
		r := &e.Receipt
		return e, row.Scan(&r.ID, &r.Provider, &r.Key, &r.ReceivedAt, &e.Type, &e.Outcome)
	})
	return events, postgres.Failure("read batches of a run", err)
}

// queueRemoval removes the events from the bulk lane, and finished ones from the inbox.
func queueRemoval(b *pgx.Batch, taken []*batched) {
	var done, doneIDs, left, leftIDs []string
	for _, e := range taken {
		if e.conclude(); e.Outcome == event.OutcomeLeft {
			left, leftIDs = append(left, e.workflowID), append(leftIDs, e.Receipt.ID)
		} else {
			done, doneIDs = append(done, e.workflowID), append(doneIDs, e.Receipt.ID)
		}
	}
	if len(done) > 0 {
		b.Queue(deleteClaimed, done, doneIDs)
	}
	if len(left) > 0 {
		b.Queue(moveToOverflow, left, leftIDs)
	}
}

// BulkPositions returns the positions in the bulk lane of the oldest unclaimed event (0 if there is none) and of the newest.
func (s *Store) BulkPositions(ctx context.Context) (oldest, newest int64, err error) {
	b := &pgx.Batch{}
	b.Queue(postgres.CommitAsync)
	b.Queue(bulkSpan).QueryRow(func(row pgx.Row) error { return row.Scan(&oldest, &newest) })
	err = s.db.SendRead(ctx, b)
	return oldest, newest, postgres.Failure("read the span of the bulk lane", err)
}
