package persistence

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
)

// changesUntil reads what an entity folds from if nothing later than a moment had happened: the last snapshot or delete
// until then and all that follows. It is readHistories of one entity with an end.
const changesUntil = `
SELECT l.kind, l.external_id, l.op, l.change, l.version, l.occurred_at, l.event_id::text
  FROM (VALUES (1)) AS always
  LEFT JOIN LATERAL (
       SELECT coalesce(version::numeric, '-Infinity') AS version, occurred_at, event_id, position
         FROM event_entities
        WHERE provider = $1 AND kind = $2 AND external_id = $3 AND occurred_at <= $4 AND op <> 'patch'
        ORDER BY coalesce(version::numeric, '-Infinity') DESC, occurred_at DESC, event_id DESC, position DESC
        LIMIT 1) AS reset ON true
  JOIN event_entities AS l
    ON l.provider = $1 AND l.kind = $2 AND l.external_id = $3 AND l.occurred_at <= $4
   AND (coalesce(l.version::numeric, '-Infinity'), l.occurred_at, l.event_id, l.position)
    >= (coalesce(reset.version, '-Infinity'), coalesce(reset.occurred_at, '-infinity'),
        coalesce(reset.event_id, '00000000-0000-0000-0000-000000000000'), coalesce(reset.position, 0))
 ORDER BY coalesce(l.version::numeric, '-Infinity'), l.occurred_at, l.event_id, l.position`

// EntityAsOf is the state that an entity had at a moment: the fold of the events that had occurred by then, as they are
// known and understood today. Event.ErrNotFound: none of them had occurred.
func (s *Store) EntityAsOf(ctx context.Context, ref event.EntityRef, at time.Time) (event.Entity, error) {
	doing := "read " + nameOf(ref) + " as of a moment"
	rows, err := s.pool.Query(ctx, changesUntil, clean(ref.Provider), clean(ref.Kind), clean(ref.ExternalID), at)
	if err != nil {
		return event.Entity{}, failure(doing, err)
	}
	changes, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (event.OrderedChange, error) {
		return scanOrdered(row)
	})
	if err == nil && len(changes) == 0 {
		err = event.ErrNotFound
	}
	if err != nil {
		return event.Entity{}, failure(doing, err)
	}
	entity, err := event.Fold(ref, changes)
	return entity, failure(doing, err)
}
