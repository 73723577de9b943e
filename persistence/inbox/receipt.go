package inbox

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/deadletters"
	"holdfast/persistence/keys"
	"holdfast/persistence/postgres"
	"holdfast/persistence/records"
)

// keepUnread stores an unreadable receipt with its dead letter.
const keepUnread = `
UPDATE dead_letters SET unread_receipt = $2::bytea
 WHERE event_id = $1::uuid AND subscription_id = 0 AND state IN ('open', 'replaying', 'exhausted')`

type waiting struct {
	event.Waiting

	workflowID string
	eventID    string
	unread     []byte // the receipt, if it could not be parsed
}

func scanWaiting(row pgx.CollectableRow) (w waiting, err error) {
	var receipt []byte
	var id, provider string
	var receivedAt time.Time
	if err := row.Scan(&w.Seq, &w.Lane, &receipt, &w.workflowID, &id, &provider, &receivedAt, &w.RejectRedelivery, &w.Attempts,
		&w.LastError, &w.DueAt, &w.Body); err != nil {
		return w, err
	}
	var ok bool
	w.eventID = id
	if w.Lane == event.LaneLarge {
		if json.Unmarshal(receipt, &w.Receipt) == nil && w.Receipt.ID == id && w.workflowID == event.LargeRow(id) {
			return w, nil
		}
	}
	if w.Receipt, ok = records.ReadReceipt(receipt, w.workflowID, id, provider, receivedAt); !ok {
		w.LastError = records.ErrMalformedReceipt.Text
		w.unread = postgres.Bytea(receipt)
	}
	return w, nil
}

// buryUnread opens a dead letter for a row whose receipt can't be read, with its bytes and the body. It does so even if another
// event owns the key, since the dedupe window, which decides whether this is a duplicate, is in the receipt.
func buryUnread(ctx context.Context, t *postgres.Transaction, row waiting) error {
	r, unread := row.Receipt, records.ErrMalformedReceipt
	b := &pgx.Batch{}
	b.Queue(postgres.EventLock, r.ID)
	keys.QueueClaims(b, r)
	if err := deadletters.QueueDeadLetter(b, event.DeadLetter{
		Receipt: r, Body: row.Body, Run: event.Run{WorkflowID: row.workflowID},
		Failure: event.Failure{
			Step: event.StepStart, Class: unread.Class, Code: unread.Code, Attempts: 1, At: time.Now().UTC(),
			Message: fmt.Sprintf("%s: its %d bytes are kept as dead_letters.unread_receipt", unread.Text, len(row.unread)),
		},
	}); err != nil {
		return err
	}
	b.Queue(keepUnread, r.ID, row.unread)
	return t.Send(ctx, b)
}
