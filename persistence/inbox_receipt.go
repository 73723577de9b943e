package persistence

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
)

// keepUnread keeps a receipt that could not be read with the dead letter that has come of it.
const keepUnread = `
UPDATE dead_letters SET unread_receipt = $2::bytea
 WHERE event_id = $1::uuid AND state IN ('open', 'redriving', 'exhausted')`

// errMalformedReceipt: somebody has written the row by hand, or a newer version has, whose receipts this one cannot read.
var errMalformedReceipt = &event.Error{
	Class: event.ClassRejected, Code: "malformed_receipt", Text: "this version cannot read the receipt in the inbox",
}

// waiting is a row of the inbox.
type waiting struct {
	event.Waiting

	workflowID string
	unread     []byte // the receipt, if it could not be read
}

func scanWaiting(row pgx.CollectableRow) (w waiting, err error) {
	var receipt []byte
	var id, provider string
	var receivedAt time.Time
	if err := row.Scan(&w.Seq, &w.Lane, &receipt, &w.workflowID, &id, &provider, &receivedAt, &w.Reject, &w.Attempts,
		&w.LastError, &w.DueAt, &w.Body); err != nil {
		return w, err
	}
	w.DueAt = w.DueAt.UTC()
	var ok bool
	if w.Receipt, ok = readReceipt(receipt, w.workflowID, id, provider, receivedAt); !ok {
		w.LastError = errMalformedReceipt.Text
		w.unread = append([]byte{}, receipt...) // never nil
	}
	return w, nil
}

// readReceipt reads the receipt of a row of the inbox. If it cannot be read, or is that of another event, ok is false, and the
// receipt is what the other columns of the row say.
func readReceipt(raw []byte, workflowID, id, provider string, receivedAt time.Time) (r event.Receipt, ok bool) {
	err := json.Unmarshal(raw, &r)
	if err == nil && r.ID == id && clean(r.WorkflowID()) == workflowID {
		return r, true
	}
	_, key, isOurs := event.SplitWorkflowID(workflowID)
	if !isOurs {
		key = workflowID
	}
	return event.Receipt{
		ID: id, Provider: provider, Key: key, KeyFrom: event.KeyFromEvent, ReceivedAt: receivedAt.UTC(),
	}, false
}

// buryUnread opens a dead letter for a row whose receipt cannot be read, with the bytes of both. It does so whoever owns the
// key: for how long that makes the event a duplicate stood in the receipt.
func (t *transaction) buryUnread(ctx context.Context, row waiting) error {
	r := row.Receipt
	b := &pgx.Batch{}
	b.Queue(eventLock, r.ID)
	queueClaims(b, []*write{{receipt: r}})
	if err := queueDeadLetter(b, event.DeadLetter{
		Receipt: r, Body: row.Body, Run: event.Run{WorkflowID: row.workflowID},
		Failure: event.Failure{
			Step: event.StepStart, Class: errMalformedReceipt.Class, Code: errMalformedReceipt.Code, Attempts: 1, At: time.Now().UTC(),
			Message: fmt.Sprintf("%s: its %d bytes are kept as dead_letters.unread_receipt", errMalformedReceipt.Text, len(row.unread)),
		},
	}); err != nil {
		return err
	}
	b.Queue(keepUnread, r.ID, row.unread)
	return t.send(ctx, b)
}
