package writer

import (
	"strings"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

// LargeBodyOf returns the SQL of the body of a large event, which moves within PostgreSQL: its row in the inbox has the ID row,
// and id is the event's. NULL if PostgreSQL doesn't have it.
func LargeBodyOf(row, id string) string {
	const sql = `coalesce(
       (SELECT raw_body FROM inbox WHERE workflow_id = 'large/' || {row}::text AND event_id = {row}::uuid LIMIT 1),
       (SELECT raw_body FROM events WHERE id = {id}::uuid),
       (SELECT raw_body FROM dead_letters WHERE event_id = {id}::uuid AND subscription_id = 0 ORDER BY id DESC LIMIT 1))`
	return strings.NewReplacer("{row}", row, "{id}", id).Replace(sql)
}

// largeTimeouts is for a large event, which is always written on its own: a group would wait for its bytes.
var largeTimeouts = timeouts{"2s", "60s"}

// isLarge reports whether the body is already in PostgreSQL. An import brings it.
func (w *write) isLarge() bool { return w.receipt.Large != nil && w.imported == "" }

// storedBody returns the body as the row's column gets it; nil if PostgreSQL has it.
func (w *write) storedBody() []byte {
	if w.isLarge() {
		return nil
	}
	return w.row.body
}

// largeRow returns the ID of the inbox row with the body; "" if there is none.
func (w *write) largeRow() *string {
	if !w.isLarge() {
		return nil
	}
	return &w.receipt.Large.ID
}

// keepsLarge reports whether the body is still needed in the inbox: a dead letter, or a run of another event, will copy it.
func (w *write) keepsLarge() bool { return w.isLarge() && (w.Held != nil || w.OwnerWaits) }

func isSetAside(r event.Receipt) bool { return r.Copied || r.Large != nil }

func setAsideRow(r event.Receipt) (workflowID, id string) {
	if r.Large != nil {
		return event.LargeRow(r.Large.ID), r.Large.ID
	}
	return postgres.Clean(r.WorkflowID()), r.ID
}

// timeoutsAlone are the timeouts of a transaction that waits as long as the store allows.
func (w *write) timeoutsAlone() timeouts {
	if w.isLarge() {
		return largeTimeouts
	}
	return storeTimeouts
}
