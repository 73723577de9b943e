package persistence

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// removeFromInbox compares both IDs: another event of the same key may wait under the workflow's. No event ID has two workflows,
// so that the pairs need not be kept together. What is locked is passed over: who has it sees to it.
const removeFromInbox = `
DELETE FROM inbox WHERE workflow_id IN (
    SELECT workflow_id FROM inbox
     WHERE workflow_id = ANY($1::text[]) AND event_id = ANY($2::uuid[])
       FOR UPDATE SKIP LOCKED)
RETURNING provider`

// RemoveFromInbox takes the events with these IDs out of the inbox, each of the workflow at the same place, since they are
// committed elsewhere. It waits for nobody: what a drain works on stays. It gives the provider of each that it has taken out.
func (s *Store) RemoveFromInbox(ctx context.Context, workflowIDs, eventIDs []string) (providers []string, err error) {
	ids := make([]string, len(workflowIDs))
	for i, id := range workflowIDs {
		ids[i] = clean(id)
	}
	providers, err = pgx.CollectRows(s.query(ctx, removeFromInbox, ids, eventIDs), pgx.RowTo[string])
	return providers, failure("remove events from the inbox", err)
}
