package persistence

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
)

// keepUnread keeps a receipt that could not be read with the dead letter that has come of it.
const keepUnread = `
UPDATE dead_letters SET unread_receipt = $2::bytea
 WHERE event_id = $1::uuid AND state IN ('open', 'redriving', 'exhausted')`

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

// buryUnread opens a dead letter for a row whose receipt cannot be read, with the bytes of both. It does so whoever owns the
// key: for how long that makes the event a duplicate stood in the receipt.
func buryUnread(ctx context.Context, t *transaction, row waiting) error {
	r := row.Receipt
	b := &pgx.Batch{}
	b.Queue(eventLock, r.ID)
	queueClaim(b, r)
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
