package inbox

import (
	"context"

	"github.com/jackc/pgx/v5"

	"holdfast/persistence/postgres"
)

// removeFromInbox compares both IDs, since another event of the same key may be in the inbox under the same workflow ID. No event
// ID has two workflows, so the IDs needn't be compared as pairs. Locked rows are skipped: their transaction removes them.
const removeFromInbox = `
DELETE FROM inbox WHERE workflow_id IN (
    SELECT workflow_id FROM inbox
     WHERE workflow_id = ANY($1::text[]) AND event_id = ANY($2::uuid[])
       FOR UPDATE SKIP LOCKED)
RETURNING provider`

// RemoveFromInbox removes the events with these IDs, each of the workflow at the same index, since they are committed elsewhere.
// It doesn't wait for locks: rows claimed by a drain stay. It returns the provider of each removed event.
func (s *Store) RemoveFromInbox(ctx context.Context, workflowIDs, eventIDs []string) (providers []string, err error) {
	ids := make([]string, len(workflowIDs))
	for i, id := range workflowIDs {
		ids[i] = postgres.Clean(id)
	}
	providers, err = pgx.CollectRows(s.db.Rows(ctx, removeFromInbox, ids, eventIDs), pgx.RowTo[string])
	return providers, postgres.Failure("remove events from the inbox", err)
}
