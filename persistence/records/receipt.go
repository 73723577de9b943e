package records

import (
	"encoding/json"
	"time"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

// ErrMalformedReceipt says that a row of the inbox cannot be read: somebody has written it by hand, or a newer version has, whose
// receipts this one cannot read.
var ErrMalformedReceipt = &event.Error{
	Class: event.ClassRejected, Code: "malformed_receipt", Text: "this version cannot read the receipt in the inbox",
}

// ReadReceipt reads the receipt of a row of the inbox. If it cannot be read, or is that of another event, ok is false, and the
// receipt is what the other columns of the row say.
func ReadReceipt(raw []byte, workflowID, id, provider string, receivedAt time.Time) (r event.Receipt, ok bool) {
	err := json.Unmarshal(raw, &r)
	if err == nil && r.ID == id && postgres.Clean(r.WorkflowID()) == workflowID {
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
