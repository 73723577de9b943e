package persistence

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
)

// Rows that are there are locked in one order, and so are made those that are not, once all locks are held: no two transactions
// wait for each other.
const (
	// lockEntities locks what the given changes touch, and what the given events are linked to by an earlier parse.
	lockEntities = `
SELECT e.* FROM (SELECT * FROM (
       SELECT provider, kind, external_id FROM unnest($1::text[], $2::text[], $3::text[]) AS change (provider, kind, external_id)
        UNION
       SELECT provider, kind, external_id FROM event_entities WHERE event_id = ANY ($4::uuid[])) AS touched
        ORDER BY provider COLLATE "C", kind COLLATE "C", external_id COLLATE "C") AS touched
 CROSS JOIN LATERAL (
       SELECT kind, external_id, state, deleted, version, occurred_at, coalesce(last_event_id::text, ''), provider
         FROM entities
        WHERE provider = touched.provider AND kind = touched.kind AND external_id = touched.external_id
          FOR UPDATE) AS e`

	// heldEntities are those of the entities that somebody else holds.
	heldEntities = `
SELECT provider, kind, external_id FROM unnest($1::text[], $2::text[], $3::text[]) AS wanted (provider, kind, external_id)
  JOIN entities USING (provider, kind, external_id)
  LEFT JOIN LATERAL (
       SELECT true AS is_free FROM entities
        WHERE provider = wanted.provider AND kind = wanted.kind AND external_id = wanted.external_id
          FOR UPDATE SKIP LOCKED) AS locked ON true
 WHERE is_free IS NULL`

	// lockTables fails where somebody holds one of them as a whole.
	lockTables = `LOCK TABLE idempotency_keys, events, event_entities, entities IN ROW EXCLUSIVE MODE NOWAIT`

	makeEntities = `
INSERT INTO entities (provider, kind, external_id, state, deleted, version, occurred_at, last_event_id)
SELECT provider, kind, external_id, state::jsonb, deleted, version, occurred_at, last_event_id
  FROM ` + entityRows

	writeEntities = `
UPDATE entities AS e
   SET state = f.state::jsonb, deleted = f.deleted, version = f.version, occurred_at = f.occurred_at,
       last_event_id = f.last_event_id, updated_at = now()
  FROM (SELECT * FROM ` + entityRows + `) AS f
 WHERE e.provider = f.provider AND e.kind = f.kind AND e.external_id = f.external_id
   AND (e.state, e.deleted, e.version, e.occurred_at, e.last_event_id)
       IS DISTINCT FROM (f.state::jsonb, f.deleted, f.version, f.occurred_at, f.last_event_id)`

	entityRows = `unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::boolean[], $6::bigint[], $7::timestamptz[], $8::uuid[])
       AS row (provider, kind, external_id, state, deleted, version, occurred_at, last_event_id)`

	// removeEntities: an entity that no event touches any more is gone, as if it had never been.
	removeEntities = `
DELETE FROM entities AS e USING unnest($1::text[], $2::text[], $3::text[]) AS gone (provider, kind, external_id)
 WHERE e.provider = gone.provider AND e.kind = gone.kind AND e.external_id = gone.external_id`
)

func queueEntityLocks(b *pgx.Batch, ws []*write, into map[event.EntityRef]event.Entity) {
	var events []string
	for _, w := range ws {
		if w.finishes() {
			events = append(events, w.receipt.ID)
		}
	}
	if len(events) == 0 {
		return
	}
	providers, kinds, ids := columnsOfRefs(refsOf(ws))
	b.Queue(lockEntities, providers, kinds, ids, events).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var e event.Entity
			if err := scanEntity(rows, &e, &e.Provider); err != nil {
				return err
			}
			into[e.EntityRef] = e
		}
		return rows.Err()
	})
}

// refsOf are the entities that events change, some of them more than once.
func refsOf(ws []*write) (refs []event.EntityRef) {
	for _, w := range ws {
		for _, c := range w.changes {
			refs = append(refs, w.refOf(c.Change))
		}
	}
	return refs
}

// errTableHeld: that is no event's trouble.
var errTableHeld = &event.Error{
	Class: event.ClassTransient, Code: "table_locked", Text: "somebody holds a whole table of the events",
}

// heldUp are the events that change an entity which somebody else holds at this moment.
func (s *Store) heldUp(ctx context.Context, ws []*write) (map[*write]bool, error) {
	providers, kinds, ids := columnsOfRefs(refsOf(ws))
	held := map[event.EntityRef]bool{}
	b := &pgx.Batch{}
	queueSettings(b, inCompany)
	b.Queue(lockTables)
	b.Queue(heldEntities, providers, kinds, ids).Query(func(rows pgx.Rows) error {
		var ref event.EntityRef
		_, err := pgx.ForEachRow(rows, []any{&ref.Provider, &ref.Kind, &ref.ExternalID}, func() error {
			held[ref] = true
			return nil
		})
		return err
	})
	tx, err := s.begin(ctx, b)
	if isLockTrouble(err) {
		return nil, errTableHeld
	}
	if err != nil {
		return nil, err
	}
	tx.rollback(ctx)
	heldUp := map[*write]bool{}
	for _, w := range ws {
		heldUp[w] = slices.ContainsFunc(w.changes, func(c event.OrderedChange) bool { return held[w.refOf(c.Change)] })
	}
	return heldUp, nil
}

func scanEntity(row pgx.Row, e *event.Entity, more ...any) error {
	var occurredAt *time.Time
	columns := []any{&e.Kind, &e.ExternalID, &e.State, &e.Deleted, &e.Last.Version, &occurredAt, &e.Last.EventID}
	if err := row.Scan(append(columns, more...)...); err != nil {
		return err
	}
	if occurredAt != nil {
		e.Last.OccurredAt = occurredAt.UTC()
	}
	return nil
}

// queueEntities writes entities that have been folded, in the order in which everybody makes them. Those of held are there.
func queueEntities(b *pgx.Batch, folded []event.Entity, held map[event.EntityRef]event.Entity) {
	var made, changed, gone []event.Entity
	for _, e := range folded {
		_, there := held[e.EntityRef]
		switch {
		case e.Last.EventID == "":
			gone = append(gone, e)
		case there:
			changed = append(changed, e)
		default:
			made = append(made, e)
		}
	}
	if len(changed) > 0 {
		b.Queue(writeEntities, columnsOfEntities(changed)...)
	}
	if len(gone) > 0 {
		b.Queue(removeEntities, columnsOfEntities(gone)[:3]...)
	}
	if len(made) > 0 {
		b.Queue(makeEntities, columnsOfEntities(made)...)
	}
}

// columnsOfEntities are entities as arrays, one a column.
func columnsOfEntities(entities []event.Entity) []any {
	var (
		providers, kinds, ids, states, lastIDs []string
		deleted                                []bool
		versions                               []*int64
		times                                  []time.Time
	)
	for _, e := range entities {
		providers, kinds, ids = append(providers, e.Provider), append(kinds, e.Kind), append(ids, e.ExternalID)
		states, deleted, versions = append(states, string(e.State)), append(deleted, e.Deleted), append(versions, e.Last.Version)
		times, lastIDs = append(times, e.Last.OccurredAt), append(lastIDs, e.Last.EventID)
	}
	return []any{providers, kinds, ids, states, deleted, versions, times, lastIDs}
}
