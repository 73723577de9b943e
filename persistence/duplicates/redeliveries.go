package duplicates

import "github.com/jackc/pgx/v5"

const (
	keepRedeliveries = `
INSERT INTO redeliveries (event_id, owner_id) SELECT id, owner FROM unnest($1::uuid[], $2::uuid[]) AS row (id, owner) ORDER BY id
    ON CONFLICT (event_id) DO UPDATE SET owner_id = excluded.owner_id WHERE redeliveries.owner_id <> excluded.owner_id`

	// PurgeRedeliveries removes up to $2 IDs of redeliveries older than $1.
	PurgeRedeliveries = `
DELETE FROM redeliveries WHERE event_id = ANY (ARRAY(
       SELECT event_id FROM redeliveries WHERE event_id < $1::uuid ORDER BY event_id LIMIT $2 FOR UPDATE SKIP LOCKED))`
)

// QueueRedeliveries keeps the IDs of redeliveries, which have no rows, so that they lead to the events that they repeat.
func QueueRedeliveries(b *pgx.Batch, ids, owners []string) {
	if len(ids) > 0 {
		b.Queue(keepRedeliveries, ids, owners)
	}
}
