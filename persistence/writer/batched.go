package writer

import (
	"context"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/lanes"
	"holdfast/persistence/postgres"
	"holdfast/persistence/records"
)

const (
	doneByRun = `
SELECT e.id::text, provider, key, received_at, type, outcome
  FROM (SELECT * FROM events WHERE workflow_id = $1 AND run_id = $2 AND status = 'processed' OFFSET 0) AS e ORDER BY e.id`
)

// batched is an event claimed by a batch.
type batched struct {
	event.Batched

	row   lanes.Row
	write *eventWrite
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
		if id != e.row.WorkflowID && earlier[id] {
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
	if !e.row.IsReadable {
		return records.ErrMalformedReceipt
	}
	if e.row.HasDeadLetter {
		return errKeyBlocked
	}
	p, err := parse(e.Receipt, e.row.Body)
	if err != nil {
		return err
	}
	if p.Splits > 0 {
		return errSplits
	}
	e.Type, e.Mapping, e.Omitted = p.Type, p.Mapping(), p.Omitted
	if e.write, err = newLive(e.Receipt, e.row.Body, p, run, event.WholeEvent); err != nil {
		return err
	}
	e.write.waiting = &e.row.Place
	if len(e.write.changes) > pageSize {
		return errManyChanges
	}
	return nil
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
func queueRemoval(b *pgx.Batch, all []*batched) {
	var done, left []lanes.Row
	for _, e := range all {
		if e.conclude(); e.Outcome == event.OutcomeLeft {
			left = append(left, e.row)
		} else {
			done = append(done, e.row)
		}
	}
	lanes.QueueRemoval(b, done)
	lanes.QueueOverflow(b, left)
}
