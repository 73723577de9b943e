package records

import (
	"encoding/json"
	"time"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

// ErrMalformedReceipt reports an inbox row whose receipt can't be parsed: it was written by hand, or by a newer version.
var ErrMalformedReceipt = &event.Error{
	Class: event.ClassRejected, Code: "malformed_receipt", Text: "this version cannot read the receipt in the inbox",
}

// ReadReceipt reads the receipt of an inbox row. If it can't be parsed, or is that of another event, ok is false, and the receipt
// has only the values of the row's other columns.
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
