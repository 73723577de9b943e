package persistence

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
)

const selectEntity = entityColumns + `
  FROM entities WHERE provider = $1 AND kind = $2 AND external_id = $3`

// Entity is the folded state of an entity, by any of its names.
func (s *Store) Entity(ctx context.Context, ref event.EntityRef) (event.Entity, error) {
	named, others, err := s.entityNamed(ctx, ref)
	if err != nil {
		return event.Entity{}, failure("read "+nameOf(ref), err)
	}
	e := event.Entity{EntityRef: named, Names: others}
	if err := scanEntity(s.pool.QueryRow(ctx, selectEntity, named.Provider, named.Kind, named.ExternalID), &e); err != nil {
		return event.Entity{}, failure("read "+nameOf(ref), err)
	}
	return e, nil
}

// Timeline is what events did to an entity, in fold order: the last event.MaxPage changes.
func (s *Store) Timeline(ctx context.Context, ref event.EntityRef) ([]event.Link, error) {
	links, err := s.TimelinePage(ctx, event.TimelineQuery{Entity: ref})
	slices.Reverse(links)
	return links, err
}

// TimelinePage is a page of what events did to an entity, the latest change first. It merges a page of changes and one of
// mentions, each of which an index has in this order.
func (s *Store) TimelinePage(ctx context.Context, q event.TimelineQuery) ([]event.Link, error) {
	entity, _, err := s.entityNamed(ctx, q.Entity)
	if err != nil {
		return nil, failure("read timeline of "+nameOf(q.Entity), err)
	}
	list := newList(`SELECT *, coalesce(version::numeric, '-Infinity') AS place FROM event_entities`)
	// All three, even if empty: without one of them the index would not give the order.
	list.where("provider = %s AND kind = %s AND external_id = %s",
		entity.Provider, entity.Kind, entity.ExternalID)
	if c := q.Before; c != nil {
		list.where("(coalesce(version::numeric, '-Infinity'), occurred_at, event_id, position)"+
			" < (coalesce(%s::bigint::numeric, '-Infinity'), %s, %s::uuid, %s)",
			c.Version, c.OccurredAt, clean(c.EventID), c.Position)
	}
	const order = "place DESC, occurred_at DESC, event_id DESC, position DESC"
	changes, mentions := *list, *list
	changes.conditions = slices.Concat(list.conditions, []string{isChange})
	mentions.conditions = slices.Concat(list.conditions, []string{isMention})
	ofChanges, args := changes.page(order, q.Limit)
	ofMentions, _ := mentions.page(order, q.Limit)
	sql, _ := newList(linkColumns+"(("+ofChanges+") UNION ALL ("+ofMentions+")) AS l"+eventOfLink).
		page("l.place DESC, l.occurred_at DESC, l.event_id DESC, l.position DESC", q.Limit)
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, failure("read timeline of "+nameOf(q.Entity), err)
	}
	links, err := pgx.CollectRows(rows, scanLink)
	return links, failure("read timeline of "+nameOf(q.Entity), err)
}

// nameOf is how an error names an entity: without its ID, which may be personal (an address, a number).
func nameOf(ref event.EntityRef) string { return "entity of kind " + clean(ref.Kind) }
