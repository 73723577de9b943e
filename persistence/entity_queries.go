package persistence

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
)

const selectEntity = `
SELECT kind, external_id, state, deleted, version, occurred_at, coalesce(last_event_id::text, '')
  FROM entities WHERE provider = $1 AND kind = $2 AND external_id = $3`

// Newest first, so that the limit cuts off the beginning of a long life.
const selectTimeline = linkColumns + `
 WHERE l.provider = $1 AND l.kind = $2 AND l.external_id = $3
 ORDER BY coalesce(l.version::numeric, '-Infinity') DESC, l.occurred_at DESC, l.event_id DESC, l.position DESC
 LIMIT $4`

// Entity is the folded state of an entity.
func (s *Store) Entity(ctx context.Context, ref event.EntityRef) (event.Entity, error) {
	e := event.Entity{EntityRef: ref}
	row := s.pool.QueryRow(ctx, selectEntity, clean(ref.Provider), clean(ref.Kind), clean(ref.ExternalID))
	if err := scanEntity(row, &e); err != nil {
		return event.Entity{}, failure("read "+nameOf(ref), err)
	}
	return e, nil
}

// Timeline is what events did to an entity, in fold order: the last event.MaxPage changes.
func (s *Store) Timeline(ctx context.Context, ref event.EntityRef) ([]event.Link, error) {
	rows, err := s.pool.Query(ctx, selectTimeline,
		clean(ref.Provider), clean(ref.Kind), clean(ref.ExternalID), event.MaxPage)
	if err != nil {
		return nil, failure("read timeline of "+nameOf(ref), err)
	}
	links, err := pgx.CollectRows(rows, scanLink)
	slices.Reverse(links)
	return links, failure("read timeline of "+nameOf(ref), err)
}

// nameOf is how an error names an entity: without its ID, which may be personal (an address, a number).
func nameOf(ref event.EntityRef) string { return "entity of kind " + clean(ref.Kind) }
