package keys

import (
	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

const (
	// claimImported is claimKeys for imports. It also returns which keys it has claimed, and which events exist under another ID:
	// their key may have been purged with its window, or belong to a later event. A key claimed without an event (version 8) goes to
	// the event imported for it.
	claimImported = `
WITH claim AS MATERIALIZED (
     SELECT * FROM unnest($1::text[], $2::text[], $3::uuid[], $4::timestamptz[], $5::bigint[], $6::text[], $7::text[])
                AS claim (provider, key, event_id, seen, microseconds, fingerprint, workflow_id)),
here AS MATERIALIZED (
     SELECT event_id FROM claim
      WHERE EXISTS (SELECT FROM events AS e
                     WHERE e.workflow_id = claim.workflow_id AND e.id <> claim.event_id AND e.received_at ` + inWindow + `)
         OR EXISTS (SELECT FROM events AS e
                     WHERE e.workflow_id LIKE 'batch/%' AND e.provider = claim.provider AND e.key = claim.key
                       AND e.id <> claim.event_id AND e.received_at ` + inWindow + `)
         OR EXISTS (SELECT FROM dead_letters AS d
                     WHERE d.workflow_id = claim.workflow_id AND d.event_id <> claim.event_id AND d.subscription_id = 0
                       AND (d.receipt->>'received_at')::timestamptz ` + inWindow + `)),
claimed AS (` + insertKeys + `
  FROM claim
 WHERE ` + isUndecided + ` AND NOT EXISTS (SELECT FROM here WHERE here.event_id = claim.event_id)` + replaceKeys + `
 WHERE held.event_id <> excluded.event_id
   AND (substr(held.event_id::text, 15, 1) = '8' AND substr(excluded.event_id::text, 15, 1) <> '8' OR ` + passedWindow + `)
RETURNING event_id)
SELECT event_id::text, false FROM claimed UNION ALL SELECT event_id::text, true FROM here`

	inWindow = `BETWEEN claim.seen - (claim.microseconds - 1) * interval '1 microsecond'
                       AND claim.seen + (claim.microseconds - 1) * interval '1 microsecond' AND claim.microseconds > 0`
)

// QueueImported claims the keys of imported events. It calls found for each event whose key it has claimed, and for each that
// exists under another ID.
func QueueImported(b *pgx.Batch, rs []event.Receipt, found func(eventID string, exists bool)) {
	workflows := postgres.Column(rs, func(r event.Receipt) string { return postgres.Clean(r.WorkflowID()) })
	var id string
	var exists bool
	b.Queue(claimImported, append(columnsOf(rs), workflows)...).Query(postgres.ForEach([]any{&id, &exists}, func() {
		found(id, exists)
	}))
}
