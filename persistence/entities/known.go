package entities

import (
	"github.com/jackc/pgx/v5"

	"holdfast/event"
)

// A purge removes what comes before a purged snapshot or delete, and leaves that one. So its row says what is not known any more:
// a state that begins before it. An imported snapshot is such a row as well: what its entity was before is not here.
const (
	// PurgedReset is the last snapshot or delete of an entity whose event is purged. It begins at the last of all, which the row
	// has, unless it is of a release that did not count.
	PurgedReset = `
SELECT last.version, last.occurred_at, last.event_id::text
  FROM entities AS e CROSS JOIN LATERAL (
       SELECT * FROM event_entities AS l
        WHERE provider = $1 AND kind = $2 AND external_id = $3 AND op <> 'patch'
          AND (coalesce(version::numeric, '-Infinity'), occurred_at, event_id)
           <= (CASE WHEN e.links IS NULL THEN 'Infinity' ELSE coalesce(e.reset_version::numeric, '-Infinity') END,
               coalesce(e.reset_at, 'infinity'), coalesce(e.reset_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
          AND NOT EXISTS (SELECT FROM events WHERE id = l.event_id)
        ORDER BY provider DESC, kind DESC, external_id DESC, coalesce(version::numeric, '-Infinity') DESC, occurred_at DESC,
              event_id DESC, position DESC
        LIMIT 1) AS last
 WHERE e.provider = $1 AND e.kind = $2 AND e.external_id = $3 AND (e.reset_id IS NOT NULL OR e.links IS NULL)`

	// purgedMention is the first mention of an entity whose event is purged: earlier ones may be gone.
	purgedMention = `
SELECT version, occurred_at, event_id::text FROM event_entities AS l
 WHERE provider = $1 AND kind = $2 AND external_id = $3 AND ` + IsMention + `
   AND NOT EXISTS (SELECT FROM events WHERE id = l.event_id)
 ORDER BY coalesce(version::numeric, '-Infinity'), occurred_at, l.event_id, position LIMIT 1`
)

// queuePurged runs one of these statements.
func queuePurged(b *pgx.Batch, sql string, ref event.EntityRef, found func(event.Order)) {
	b.Queue(sql, ref.Provider, ref.Kind, ref.ExternalID).Query(func(rows pgx.Rows) error {
		var o event.Order
		_, err := pgx.ForEachRow(rows, []any{&o.Version, &o.OccurredAt, &o.EventID}, func() error {
			o.OccurredAt = o.OccurredAt.UTC()
			found(o)
			return nil
		})
		return err
	})
}

// losesTo notes that changes between the place where the fold begins and a purged reset that had not occurred are gone.
func (a *late) losesTo(purged event.Order) {
	if purged.Compare(a.after) > 0 && purged.OccurredAt.After(a.until) && purged.OccurredAt.After(a.lostBefore) {
		a.lostBefore = purged.OccurredAt
	}
}
