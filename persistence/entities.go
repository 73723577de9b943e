package persistence

import (
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
)

// touchedEntities are the entities that an event touches now, by its changes, or did by an earlier parse, by its
// links.
const touchedEntities = `
SELECT kind, external_id FROM unnest($3::text[], $4::text[]) AS changed (kind, external_id)
 UNION SELECT kind, external_id FROM event_entities WHERE event_id = $1::uuid`

// Rows are made, and then locked, in one order, so that no two transactions wait for each other: neither for a row
// that the other is making nor for one that is there.
const (
	makeEntities = `
INSERT INTO entities (provider, kind, external_id)
SELECT $2, kind, external_id FROM (` + touchedEntities + `) AS touched
 ORDER BY kind COLLATE "C", external_id COLLATE "C"
    ON CONFLICT DO NOTHING`

	lockEntities = `
SELECT e.kind, e.external_id, e.state, e.deleted, e.version, e.occurred_at, coalesce(e.last_event_id::text, ''),
       EXISTS (SELECT FROM event_entities AS l
                WHERE l.event_id = $1::uuid AND l.kind = e.kind AND l.external_id = e.external_id)
  FROM entities AS e
 WHERE e.provider = $2 AND (e.kind, e.external_id) IN (` + touchedEntities + `)
 ORDER BY e.kind COLLATE "C", e.external_id COLLATE "C"
   FOR UPDATE OF e`
)

// An entity that no event touches any more is gone, as if it had never been.
const (
	writeEntities = `
UPDATE entities AS e
   SET state = f.state::jsonb, deleted = f.deleted, version = f.version, occurred_at = f.occurred_at,
       last_event_id = f.last_event_id::uuid, updated_at = now()
  FROM unnest($2::text[], $3::text[], $4::text[], $5::boolean[], $6::bigint[], $7::timestamptz[], $8::text[])
       AS f (kind, external_id, state, deleted, version, occurred_at, last_event_id)
 WHERE e.provider = $1 AND e.kind = f.kind AND e.external_id = f.external_id
   AND (e.state, e.deleted, e.version, e.occurred_at, e.last_event_id)
       IS DISTINCT FROM (f.state::jsonb, f.deleted, f.version, f.occurred_at, f.last_event_id::uuid)`

	removeEntities = `
DELETE FROM entities AS e USING unnest($2::text[], $3::text[]) AS gone (kind, external_id)
 WHERE e.provider = $1 AND e.kind = gone.kind AND e.external_id = gone.external_id`
)

// lockedEntity is an entity whose row this transaction holds.
type lockedEntity struct {
	event.Entity
	// linked: the event at hand has changed it before.
	linked bool
}

// isNew says whether this transaction has made the row.
func (e lockedEntity) isNew() bool { return e.Last.EventID == "" }

// queueLock locks all entities that the event touches, in whichever way, and makes those that are not there.
func queueLock(b *pgx.Batch, r event.Receipt, changes []event.OrderedChange, into *[]lockedEntity) {
	provider := clean(r.Provider)
	var kinds, ids []string
	for _, c := range changes {
		kinds, ids = append(kinds, c.Change.Kind), append(ids, c.Change.ExternalID)
	}
	b.Queue(makeEntities, r.ID, provider, kinds, ids)
	b.Queue(lockEntities, r.ID, provider, kinds, ids).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var e lockedEntity
			e.Provider = provider
			if err := scanEntity(rows, &e.Entity, &e.linked); err != nil {
				return err
			}
			*into = append(*into, e)
		}
		return rows.Err()
	})
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

// queueEntities writes entities that have been folded.
func queueEntities(b *pgx.Batch, provider string, folded []event.Entity) {
	var (
		there []event.Entity
		gone  []event.EntityRef
	)
	for _, e := range folded {
		if e.Last.EventID == "" {
			gone = append(gone, e.EntityRef)
			continue
		}
		there = append(there, e)
	}
	if len(there) > 0 {
		b.Queue(writeEntities, append([]any{provider}, foldedColumns(there)...)...)
	}
	if len(gone) > 0 {
		goneKinds, goneIDs := columnsOf(gone)
		b.Queue(removeEntities, provider, goneKinds, goneIDs)
	}
}

// foldedColumns are entities as arrays, one a column.
func foldedColumns(folded []event.Entity) []any {
	var (
		kinds, ids, states, lastIDs []string
		deleted                     []bool
		versions                    []*int64
		times                       []time.Time
	)
	for _, e := range folded {
		kinds, ids, states = append(kinds, e.Kind), append(ids, e.ExternalID), append(states, string(e.State))
		deleted, versions = append(deleted, e.Deleted), append(versions, e.Last.Version)
		times, lastIDs = append(times, e.Last.OccurredAt), append(lastIDs, e.Last.EventID)
	}
	return []any{kinds, ids, states, deleted, versions, times, lastIDs}
}
