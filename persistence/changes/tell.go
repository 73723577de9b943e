package changes

import (
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"holdfast/feed"
)

const insertChanges = `INSERT INTO changes (n, items) VALUES ($1, $2::json)`

// Queue adds a statement that tells of changes to the transaction that makes them. Their texts are clean.
func Queue(b *pgx.Batch, told []feed.Change) {
	if len(told) == 0 {
		return
	}
	items, err := json.Marshal(told)
	if err != nil {
		panic(err) // text and numbers, which never fail
	}
	b.Queue(insertChanges, len(told), string(items))
}

// TellDeliveries ends a statement that has ended, or put off, deliveries, which stand in the table "told" with event_id,
// subscription_id, action and code. It counts them.
const TellDeliveries = `
INSERT INTO changes (n, items)
SELECT count(*), json_agg(json_build_object('subject', 'delivery', 'action', told.action, 'provider', coalesce(e.provider, ''),
       'kind', coalesce(e.type, ''), 'id', told.event_id || '/' || told.subscription_id, 'event_id', told.event_id,
       'subscription_id', told.subscription_id, 'code', told.code))
  FROM told LEFT JOIN events AS e ON e.id = told.event_id
HAVING count(*) > 0`

// Drop removes what was told before a time, whole days of it, and gives about how many rows have gone. The function is that of
// the migration, since only who owns a table may truncate it.
const Drop = `SELECT drop_changes($1)`
