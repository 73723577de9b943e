package read

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/fold"
	"holdfast/persistence/entities"
	"holdfast/persistence/postgres"
)

const selectEntity = entities.EntityColumns + `,
       greatest((SELECT latest_at FROM entity_bases WHERE provider = $1 AND kind = $2 AND external_id = $3),
                (SELECT purged.occurred_at FROM (` + entities.PurgedReset + `) AS purged)), revision,
       ` + entities.IsIncomplete + `
  FROM entities WHERE provider = $1 AND kind = $2 AND external_id = $3`

// Entity returns the folded state of an entity, by any of its names.
func (s *Store) Entity(ctx context.Context, ref event.EntityRef) (event.Entity, error) {
	named, others, err := entities.Named(ctx, s.db, ref)
	if err != nil {
		return event.Entity{}, postgres.Failure("read "+entities.NameOf(ref), err)
	}
	e := event.Entity{EntityRef: named, Names: others}
	row := s.db.QueryRow(ctx, selectEntity, named.Provider, named.Kind, named.ExternalID)
	if err := entities.ScanEntity(row, &e, &e.CollapsedUntil, &e.Revision, &e.Incomplete); err != nil {
		return event.Entity{}, postgres.Failure("read "+entities.NameOf(ref), err)
	}
	return e, nil
}

const (
	// maxKinds bounds for how many kinds of entities an ID is looked up.
	maxKinds = 500

	// entitiesNamed looks up the next kind in each step of the recursion, and the ID for each kind, always in a primary key: an
	// index by ID alone would cost each write of an entity.
	entitiesNamed = `
WITH RECURSIVE kinds (provider, kind) AS (
       (SELECT e.provider, e.kind FROM entities AS e ORDER BY e.provider, e.kind LIMIT 1)
        UNION ALL
       SELECT next.provider, next.kind
         FROM kinds
        CROSS JOIN LATERAL (
              SELECT e.provider, e.kind FROM entities AS e
               WHERE (e.provider, e.kind) > (kinds.provider, kinds.kind) ORDER BY e.provider, e.kind LIMIT 1) AS next)
SELECT e.provider, e.kind, e.external_id
  FROM (SELECT kinds.provider, kinds.kind FROM kinds LIMIT $2) AS known
 CROSS JOIN LATERAL (
       SELECT entities.provider, entities.kind, entities.external_id FROM entities
        WHERE entities.provider = known.provider AND entities.kind = known.kind
          AND entities.external_id = coalesce((
              SELECT n.external_id FROM entity_names AS n
               WHERE n.provider = known.provider AND n.kind = known.kind AND n.name = $1), $1)) AS e
 LIMIT $3`
)

// EntitiesNamed returns the entities with an ID or another name, of any provider and kind, in the order of these, up to limit. It
// looks at the first 500 kinds.
func (s *Store) EntitiesNamed(ctx context.Context, name string, limit int) ([]event.EntityRef, error) {
	name = postgres.Clean(name)
	rows := s.db.Rows(ctx, entitiesNamed, name, maxKinds, limit)
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[event.EntityRef])
	return found, postgres.Failure("read entities named "+name, err)
}

// Timeline returns what events did to an entity, in fold order: the last event.MaxPage changes.
func (s *Store) Timeline(ctx context.Context, ref event.EntityRef) ([]event.Link, error) {
	links, err := s.TimelinePage(ctx, event.TimelineQuery{Entity: ref})
	slices.Reverse(links)
	return links, err
}

// Effects returns a page of the timeline of an entity, like TimelinePage, with the effect of each change.
func (s *Store) Effects(ctx context.Context, q event.TimelineQuery) ([]fold.Effect, error) {
	links, err := s.TimelinePage(ctx, q)
	if err != nil || len(links) == 0 {
		return nil, err
	}
	first := firstEffective(links)
	before, known, err := entities.StateBefore(ctx, s.db, first.EntityRef, first.Cursor(), q.AsOf)
	if err != nil {
		return nil, postgres.Failure("compare timeline of "+entities.NameOf(q.Entity), err)
	}
	effects, err := fold.Effects(before, known, links)
	return effects, postgres.Failure("compare timeline of "+entities.NameOf(q.Entity), err)
}

// firstEffective returns the first change with an effect: earlier ones were collapsed.
func firstEffective(links []event.Link) event.Link {
	for _, l := range slices.Backward(links) {
		if !l.WithoutEffect {
			return l
		}
	}
	return links[0]
}

// TimelinePage returns a page of what events did to an entity, latest change first. It merges a page of changes and one of
// mentions, each of which an index provides in this order.
func (s *Store) TimelinePage(ctx context.Context, q event.TimelineQuery) ([]event.Link, error) {
	entity, _, err := entities.Named(ctx, s.db, q.Entity)
	if err != nil {
		return nil, postgres.Failure("read timeline of "+entities.NameOf(q.Entity), err)
	}
	list := postgres.NewList(`SELECT *, coalesce(version::numeric, '-Infinity') AS place FROM event_entities`)
	// All three, even if empty: without one of them the index would not provide the order.
	list.Where("provider = %s AND kind = %s AND external_id = %s",
		entity.Provider, entity.Kind, entity.ExternalID)
	if c := q.Before; c != nil {
		list.Where("(coalesce(version::numeric, '-Infinity'), occurred_at, event_id, position)"+
			" < (coalesce(%s::bigint::numeric, '-Infinity'), %s, %s::uuid, %s)",
			c.Version, c.OccurredAt, postgres.Clean(c.EventID), c.Position)
	}
	if !q.AsOf.IsZero() {
		list.Where("occurred_at <= %s", q.AsOf)
	}
	const order = "place DESC, occurred_at DESC, event_id DESC, position DESC"
	changes, mentions := *list, *list
	changes.Conditions = slices.Concat(list.Conditions, []string{entities.IsChange})
	mentions.Conditions = slices.Concat(list.Conditions, []string{entities.IsMention})
	ofChanges, args := changes.Page(order, q.Limit)
	ofMentions, _ := mentions.Page(order, q.Limit)
	sql, _ := postgres.NewList(linkColumns+"(("+ofChanges+") UNION ALL ("+ofMentions+")) AS l"+eventOfLink).
		Page("l.place DESC, l.occurred_at DESC, l.event_id DESC, l.position DESC", q.Limit)
	rows := s.db.Rows(ctx, sql, args...)
	links, err := pgx.CollectRows(rows, scanLink)
	return links, postgres.Failure("read timeline of "+entities.NameOf(q.Entity), err)
}
