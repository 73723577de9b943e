package changes

import (
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"holdfast/event/feed"
)

const insertChanges = `INSERT INTO changes (n, items) VALUES ($1, $2::json)`

// Queue adds a statement that writes change events to the transaction that makes the changes. Their texts must be clean.
func Queue(b *pgx.Batch, told []feed.Change) {
	if len(told) == 0 {
		return
	}
	items, err := json.Marshal(told)
	if err != nil {
		panic(err) // text and numbers always encode
	}
	b.Queue(insertChanges, len(told), string(items))
}

// TellDeliveries ends a statement that has ended or postponed deliveries, listed in the table "told" with event_id,
// subscription_id, action and code. It counts them.
const TellDeliveries = `
INSERT INTO changes (n, items)
SELECT count(*), json_agg(json_build_object('subject', 'delivery', 'action', told.action, 'provider', coalesce(e.provider, ''),
       'kind', coalesce(e.type, ''), 'id', told.event_id || '/' || told.subscription_id, 'event_id', told.event_id,
       'subscription_id', told.subscription_id, 'code', told.code))
  FROM told LEFT JOIN events AS e ON e.id = told.event_id
HAVING count(*) > 0`

// Drop removes change events older than a time, in whole days, and returns about how many rows were removed. It calls a function
// of the migration, since only the owner of a table may truncate it.
const Drop = `SELECT drop_changes($1)`
