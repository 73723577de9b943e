package lanes

import (
	"strings"

	"github.com/jackc/pgx/v5"

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

// removeCopies leaves the copies that a drain has locked: it removes them itself. It names the other lanes, so that no plan reads
// all copies by the index of lanes.
const removeCopies = `
DELETE FROM inbox WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM inbox
        WHERE workflow_id = ANY ($1::text[]) AND event_id = ANY ($2::uuid[]) AND lane NOT IN ('bulk', 'overflow')
          FOR UPDATE SKIP LOCKED))`

// QueueRemovalOfCopies removes the copies of events that are stored, or dead letters, with the transaction.
func QueueRemovalOfCopies(b *pgx.Batch, receipts ...event.Receipt) {
	var workflowIDs, ids []string
	for _, r := range receipts {
		if isSetAside(r) {
			workflowID, id := setAsideRow(r)
			workflowIDs, ids = append(workflowIDs, workflowID), append(ids, id)
		}
	}
	if len(ids) > 0 {
		b.Queue(removeCopies, workflowIDs, ids)
	}
}

func isSetAside(r event.Receipt) bool { return r.Copied || r.Large != nil }

func setAsideRow(r event.Receipt) (workflowID, id string) {
	if r.Large != nil {
		return event.LargeRow(r.Large.ID), r.Large.ID
	}
	return postgres.Clean(r.WorkflowID()), r.ID
}
