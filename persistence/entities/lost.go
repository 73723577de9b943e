package entities

import (
	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

// When a purge reaches a snapshot or delete, it removes the changes before it and keeps the snapshot or delete itself. Earlier
// states of the entity can then no longer be computed. The same goes for an imported snapshot, since the entity's earlier
// states aren't stored.
const (
	// PurgedReset selects the last snapshot or delete of an entity whose event is purged. The search starts at the entity's
	// last reset, if the row has it; rows without counts don't.
	PurgedReset = `
SELECT last.version, last.occurred_at, last.event_id::text
  FROM entities AS e CROSS JOIN LATERAL (
       SELECT * FROM event_entities AS l
        WHERE provider = $1 AND kind = $2 AND external_id = $3 AND op <> 'patch'
          AND (coalesce(version::numeric, '-Infinity'), occurred_at, event_id)
           <= (CASE WHEN e.links IS NULL THEN 'Infinity' ELSE coalesce(e.reset_version::numeric, '-Infinity') END,
               coalesce(e.reset_at, 'infinity'), coalesce(e.reset_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
          AND NOT EXISTS (SELECT FROM events WHERE id = l.event_id OFFSET 0)
        ORDER BY provider DESC, kind DESC, external_id DESC, coalesce(version::numeric, '-Infinity') DESC, occurred_at DESC,
              event_id DESC, position DESC
        LIMIT 1) AS last
 WHERE e.provider = $1 AND e.kind = $2 AND e.external_id = $3 AND (e.reset_id IS NOT NULL OR e.links IS NULL)`

	// purgedMention selects the first mention of an entity whose event is purged: earlier ones may be removed.
	purgedMention = `
SELECT version, occurred_at, event_id::text FROM event_entities AS l
 WHERE provider = $1 AND kind = $2 AND external_id = $3 AND ` + IsMention + `
   AND NOT EXISTS (SELECT FROM events WHERE id = l.event_id OFFSET 0)
 ORDER BY coalesce(version::numeric, '-Infinity'), occurred_at, l.event_id, position LIMIT 1`
)

// queuePurged runs one of these statements.
func queuePurged(b *pgx.Batch, sql string, ref event.EntityRef, found func(event.Order)) {
	var o event.Order
	columns := []any{&o.Version, &o.OccurredAt, &o.EventID}
	b.Queue(sql, ref.Provider, ref.Kind, ref.ExternalID).Query(postgres.ForEach(columns, func() { found(o) }))
}

// markLost records that changes were removed, if a purged reset lies after the start of the fold and occurred after until.
func (a *refold) markLost(purged event.Order) {
	if purged.Compare(a.after) > 0 && purged.OccurredAt.After(a.until) && purged.OccurredAt.After(a.lostBefore) {
		a.lostBefore = purged.OccurredAt
	}
}
