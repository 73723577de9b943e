package read

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/entities"
	"holdfast/persistence/postgres"
)

const (
	entitiesInOrder = "provider, kind, external_id"

	listedEntity = `SELECT provider, kind, external_id, deleted, version, occurred_at, last_event_id::text AS last_event_id,
       ` + entities.IsIncomplete + ` AS incomplete FROM `
	foundEntity = `SELECT provider, kind, external_id, deleted, version, occurred_at, last_event_id, incomplete FROM `

	// changedSince selects the entities that the newest events have changed, each looked up by its name.
	changedSince = `(
       SELECT e.* FROM (
              SELECT DISTINCT provider, kind, external_id FROM (
                     SELECT * FROM event_entities WHERE event_id >= %s::uuid ORDER BY event_id DESC LIMIT %d) AS newest
               WHERE ` + entities.IsChange + `) AS changed
        CROSS JOIN LATERAL (
              SELECT * FROM entities
               WHERE provider = changed.provider AND kind = changed.kind AND external_id = changed.external_id LIMIT 1) AS e)
    AS changed`

	// lastOfChanged selects the change before those that changedSince reads.
	lastOfChanged = `
SELECT event_id::text FROM event_entities WHERE event_id >= $1::uuid ORDER BY event_entities.event_id DESC OFFSET $2 LIMIT 1`
)

// EntityList returns a page of entities in the order of their names, without their states. Each kind of query reads a bounded
// part of an index, and returns where it has stopped.
func (s *Store) EntityList(ctx context.Context, q event.EntityQuery) (found event.FoundEntities, err error) {
	defer postgres.Annotate(&err, "list entities")
	if found.ChangedSince, err = s.completeSince(ctx, q.Since); err != nil {
		return found, err
	}
	list := entitiesOf(q)
	looked, order := list, entitiesInOrder
	if q.Prefix != "" {
		order = "external_id" // the other columns are fixed, and a nested list has no order by them
		looked = &postgres.List{Selection: foundEntity, Args: list.Args}
		looked.Selection += fmt.Sprintf("(%s ORDER BY %s LIMIT %d) AS e", list.Statement(), order, event.MaxSearched)
		looked.Where("starts_with(external_id, %s)", postgres.Clean(q.Prefix))
	}
	sql, args := looked.Page(order, q.Limit)
	if found.Entities, err = pgx.CollectRows(s.db.Rows(ctx, sql, args...), scanListed); err != nil {
		return found, err
	}
	if q.Prefix != "" && len(found.Entities) < q.Limit {
		found.SearchedTo, err = s.lastLookedAt(ctx, list)
	}
	return found, err
}

// entitiesOf lists the entities in which a prefix is searched: in every collation, a name with the prefix doesn't sort before it.
func entitiesOf(q event.EntityQuery) *postgres.List {
	list := postgres.NewList("")
	from := "entities"
	if !q.Since.IsZero() {
		list.Args = []any{event.FirstIDAt(q.Since)}
		from = fmt.Sprintf(changedSince, "$1", event.MaxSearched)
	}
	list.Selection = listedEntity + from
	list.Equal("provider", q.Provider)
	list.Equal("kind", q.Kind)
	if q.Prefix != "" {
		list.Where("external_id >= %s", postgres.Clean(q.Prefix))
	}
	if a := q.After; a != nil {
		list.Where("("+entitiesInOrder+") > (%s, %s, %s)",
			postgres.Clean(a.Provider), postgres.Clean(a.Kind), postgres.Clean(a.ExternalID))
	}
	return list
}

// lastLookedAt returns the last entity that a search for a prefix has read; nil if it has read all.
func (s *Store) lastLookedAt(ctx context.Context, of *postgres.List) (last *event.EntityRef, err error) {
	sql := fmt.Sprintf("SELECT %[1]s FROM (%[2]s ORDER BY %[1]s OFFSET %[3]d LIMIT 1) AS last",
		entitiesInOrder, of.Statement(), event.MaxSearched-1)
	var ref event.EntityRef
	_, err = pgx.ForEachRow(s.db.Rows(ctx, sql, of.Args...), []any{&ref.Provider, &ref.Kind, &ref.ExternalID}, func() error {
		last = &ref
		return nil
	})
	return last, err
}

// completeSince returns since, or a later time from which on all changes are among the newest.
func (s *Store) completeSince(ctx context.Context, since time.Time) (time.Time, error) {
	if since.IsZero() {
		return since, nil
	}
	var id string
	_, err := pgx.ForEachRow(s.db.Rows(ctx, lastOfChanged, event.FirstIDAt(since), event.MaxSearched), []any{&id}, func() error {
		if made, ok := event.TimeOfID(id); ok {
			since = made.Add(time.Millisecond).UTC()
		}
		return nil
	})
	return since, err
}

func scanListed(row pgx.CollectableRow) (e event.Entity, err error) {
	err = row.Scan(&e.Provider, &e.Kind, &e.ExternalID, &e.Deleted, &e.Last.Version, postgres.TimeOrZero(&e.Last.OccurredAt),
		postgres.TextOrEmpty(&e.Last.EventID), &e.Incomplete)
	return e, err
}
