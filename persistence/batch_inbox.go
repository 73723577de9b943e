package persistence

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
)

const (
	// takeInbox passes over what another batch has taken. The index of arrival serves it, and ends it.
	takeInbox = `
SELECT i.workflow_id, i.receipt, i.raw_body,
       EXISTS (SELECT FROM dead_letters AS d
                WHERE d.workflow_id = i.workflow_id AND d.state IN ('open', 'redriving', 'exhausted'))
  FROM inbox AS i
 WHERE i.lane = 'bulk'
 ORDER BY i.seq
 LIMIT $1
   FOR UPDATE OF i SKIP LOCKED`

	deleteTaken = `DELETE FROM inbox WHERE workflow_id = ANY ($1)`

	moveToOverflow = `UPDATE inbox SET lane = 'overflow', due_at = now() WHERE workflow_id = ANY ($1)`

	doneByRun = `
SELECT id::text, provider, key, received_at, type, outcome FROM events
 WHERE workflow_id = $1 AND run_id = $2 AND status = 'processed' ORDER BY id`

	// bulkWaits passes over what a batch has taken.
	bulkWaits = `
SELECT EXISTS (SELECT FROM inbox WHERE lane = 'bulk' ORDER BY seq LIMIT 1 FOR KEY SHARE SKIP LOCKED)`
)

// batched is an event that a batch has taken: its row is locked until the transaction ends.
type batched struct {
	event.Batched

	workflowID string // this, and the receipt, as the inbox has it
	receipt    []byte
	body       []byte
	inTrouble  bool // a dead letter of its key waits
	parsed     event.Parsed
	changes    []event.OrderedChange
	row        eventRow
}

// errInTrouble: a dead letter of this key waits, or its owner is not processed. What a redelivery means for those is decided
// where single events are started.
var errInTrouble = &event.Error{
	Class: event.ClassFailed, Code: "in_trouble", Text: "an event of this key waits for its redelivery or an operator",
}

// leave takes the event out of the batch.
func (e *batched) leave(why error) { e.Outcome, e.Reason = event.OutcomeLeft, why }

// prepare does everything that needs no database: parse, and encode the columns.
func (e *batched) prepare(parse event.Parser) {
	if err := e.encode(parse); err != nil {
		e.leave(err)
	}
}

func (e *batched) encode(parse event.Parser) (err error) {
	if json.Unmarshal(e.receipt, &e.Receipt) != nil {
		return errMalformedReceipt
	}
	if e.inTrouble {
		return errInTrouble
	}
	if e.parsed, err = parse(e.Receipt, e.body); err != nil {
		return err
	}
	e.Type = e.parsed.Type
	if e.parsed.Outcome == event.OutcomeIgnored {
		e.parsed.Changes = nil
	}
	if e.changes, err = changesOf(e.Receipt, e.parsed); err != nil {
		return err
	}
	e.row, err = newEventRow(e.Receipt, e.body)
	return err
}

var errMalformedReceipt = &event.Error{
	Class: event.ClassRejected, Code: "malformed_receipt", Text: "the receipt in the inbox is no receipt",
}

func queueTake(b *pgx.Batch, limit int, into *[]*batched) {
	b.Queue(takeInbox, limit).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			e := &batched{}
			if err := rows.Scan(&e.workflowID, &e.receipt, &e.body, &e.inTrouble); err != nil {
				return err
			}
			*into = append(*into, e)
		}
		return rows.Err()
	})
}

// BatchedBy are the events that a run has processed in batches, as the tables still tell: the duplicates that were among
// them, and the events that left, are gone.
func (s *Store) BatchedBy(ctx context.Context, run event.Run) ([]event.Batched, error) {
	rows, err := s.pool.Query(ctx, doneByRun, clean(run.WorkflowID), clean(run.RunID))
	if err != nil {
		return nil, failure("read batches of a run", err)
	}
	events, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e event.Batched, err error) {
		r := &e.Receipt
		return e, row.Scan(&r.ID, &r.Provider, &r.Key, &r.ReceivedAt, &e.Type, &e.Outcome)
	})
	return events, failure("read batches of a run", err)
}

// queueGone takes the events out of the bulk lane: those that are done out of the inbox.
func queueGone(b *pgx.Batch, taken []*batched) {
	var done, left []string
	for _, e := range taken {
		if e.Outcome == event.OutcomeLeft {
			left = append(left, e.workflowID)
		} else {
			done = append(done, e.workflowID)
		}
	}
	if len(done) > 0 {
		b.Queue(deleteTaken, done)
	}
	if len(left) > 0 {
		b.Queue(moveToOverflow, left)
	}
}

// BulkWaits says whether an event waits in the bulk lane that no batch has taken.
func (s *Store) BulkWaits(ctx context.Context) (waits bool, err error) {
	err = s.pool.QueryRow(ctx, bulkWaits).Scan(&waits)
	return waits, failure("look into the inbox", err)
}
