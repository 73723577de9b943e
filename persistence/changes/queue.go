package changes

import (
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"holdfast/event/feed"
)

const insertChanges = `INSERT INTO changes (n, items) VALUES ($1, $2::json)`

// Queue adds a statement that writes change events to the transaction that makes the changes. Their texts must be clean.
func Queue(b *pgx.Batch, reported []feed.Change) {
	if len(reported) == 0 {
		return
	}
	items, err := json.Marshal(reported)
	if err != nil {
		panic(err) // text and numbers always encode
	}
	b.Queue(insertChanges, len(reported), string(items))
}

// ReportDeliveries ends a statement that has ended or postponed deliveries, listed in the table "reported" with event_id,
// subscription_id, action and code. It counts them.
const ReportDeliveries = `
INSERT INTO changes (n, items)
SELECT count(*), json_agg(json_build_object('subject', 'delivery', 'action', reported.action,
       'provider', coalesce(e.provider, ''), 'kind', coalesce(e.type, ''),
       'id', reported.event_id || '/' || reported.subscription_id, 'event_id', reported.event_id,
       'subscription_id', reported.subscription_id, 'code', reported.code))
  FROM reported
  LEFT JOIN LATERAL (SELECT provider, type FROM events WHERE id = reported.event_id OFFSET 0) AS e ON true
HAVING count(*) > 0`

// Drop removes change events older than a time, in whole days, and returns about how many rows were removed. It calls a function
// of the migration, since only the owner of a table may truncate it.
const Drop = `SELECT drop_changes($1)`
