package names

import (
	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/entities"
)

// A kind of entity may have several names: see event.Name. A transaction that writes an entity by a name holds the locks of that
// name and of what it stands for, from before it reads names until its end. So two transactions that write one entity, under
// whatever names, run one after the other.
const (
	// lockNames locks names and what they stand for, in one order, and returns what it has locked: while it waited, a name may have
	// been repointed to another one.
	lockNames = `
SELECT provider, kind, name, pg_advisory_xact_lock(h)::text FROM (
       SELECT provider, kind, name, ` + hashOfName + ` AS h FROM (
              SELECT * FROM ` + givenNames + `
               UNION
              SELECT provider, kind, external_id FROM ` + givenNames + ` CROSS JOIN ` + rowOfName + `
              ) AS wanted
        ORDER BY h, name) AS in_one_order`

	hashOfName = `hashtextextended(jsonb_build_array(provider, kind, name)::text, 1)`

	// lockedNames selects names that another transaction has locked, or whose target it has locked.
	lockedNames = `
SELECT provider, kind, name FROM (
       SELECT provider, kind, name, external_id FROM ` + givenNames + ` LEFT JOIN ` + rowOfName + ` ON true) AS s
 WHERE NOT pg_try_advisory_xact_lock(` + hashOfName + `)
    OR NOT coalesce((SELECT pg_try_advisory_xact_lock(` + hashOfName + `)
                       FROM (SELECT s.provider, s.kind, s.external_id AS name) AS root WHERE name IS NOT NULL), true)`

	readNames = `
SELECT provider, kind, name, external_id, rank FROM ` + givenNames + ` CROSS JOIN ` + rowOfName

	givenNames = `unnest($1::text[], $2::text[], $3::text[]) AS given (provider, kind, name)`

	rowOfName = `LATERAL (
       SELECT external_id, rank FROM entity_names
        WHERE provider = given.provider AND kind = given.kind AND name = given.name OFFSET 0) AS n`

	learnNames = `
INSERT INTO entity_names (provider, kind, name, external_id, rank)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::smallint[])
    ON CONFLICT (provider, kind, name) DO UPDATE SET external_id = excluded.external_id, rank = excluded.rank`

	// repointNames makes names that stood for a repointed name stand for its new target.
	repointNames = `
UPDATE entity_names AS n SET external_id = t.external_id, rank = t.rank
  FROM (SELECT place, t.external_id, rank
          FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::smallint[])
               AS t (provider, kind, name, external_id, rank)
         CROSS JOIN LATERAL (
               SELECT ctid AS place FROM entity_names
                WHERE provider = t.provider AND kind = t.kind AND external_id = t.name OFFSET 0) AS here) AS t
 WHERE n.ctid = t.place`

	// lockNamesOfEvent locks the best names of the entities that an event is linked to.
	lockNamesOfEvent = `
SELECT pg_advisory_xact_lock(h) FROM (
       SELECT DISTINCT ` + hashOfName + ` AS h FROM (
              SELECT provider, kind, external_id AS name FROM event_entities WHERE event_id = $1::uuid) AS linked
        ORDER BY h) AS in_one_order`

	forgetNames = `
DELETE FROM entity_names WHERE ctid = ANY (ARRAY(
       SELECT place
         FROM unnest($1::text[], $2::text[], $3::text[]) AS t (provider, kind, external_id)
        CROSS JOIN LATERAL (
              SELECT ctid AS place FROM entity_names
               WHERE provider = t.provider AND kind = t.kind AND external_id = t.external_id OFFSET 0) AS n
        WHERE NOT EXISTS (SELECT FROM entities
                           WHERE provider = t.provider AND kind = t.kind AND external_id = t.external_id OFFSET 0)))`
)

// QueueLocks locks names, and reads what they stand for.
func QueueLocks(b *pgx.Batch, given []event.EntityRef, locked map[event.EntityRef]bool, known *Identities) {
	providers, kinds, names := entities.ColumnsOfRefs(given)
	var ref event.EntityRef
	var void string
	b.Queue(lockNames, providers, kinds, names).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, append(entities.RefColumns(&ref), &void), func() error { locked[ref] = true; return nil })
		return err
	})
	QueueKnown(b, given, known)
}

// QueueKnown reads what names stand for.
func QueueKnown(b *pgx.Batch, given []event.EntityRef, known *Identities) {
	providers, kinds, names := entities.ColumnsOfRefs(given)
	var name event.EntityRef
	var id string
	var rank int
	b.Queue(readNames, providers, kinds, names).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, append(entities.RefColumns(&name), &id, &rank), func() error {
			known.add(name, event.EntityRef{Provider: name.Provider, Kind: name.Kind, ExternalID: id}, rank)
			return nil
		})
		return err
	})
}

// QueueLocked finds names that another transaction has locked.
func QueueLocked(b *pgx.Batch, given []event.EntityRef, held map[event.EntityRef]bool) {
	providers, kinds, names := entities.ColumnsOfRefs(given)
	var ref event.EntityRef
	b.Queue(lockedNames, providers, kinds, names).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, entities.RefColumns(&ref), func() error { held[ref] = true; return nil })
		return err
	})
}

// QueueLocksOfEvent locks the names of the entities that an event is linked to.
func QueueLocksOfEvent(b *pgx.Batch, eventID string) { b.Queue(lockNamesOfEvent, eventID) }

// QueueLearned writes the names that the table doesn't have yet.
func QueueLearned(b *pgx.Batch, known *Identities) {
	if moved := known.moved(); len(moved) > 0 {
		b.Queue(repointNames, known.Columns(moved)...)
	}
	if learned := known.Learned(); len(learned) > 0 {
		b.Queue(learnNames, known.Columns(learned)...)
	}
}

// QueueForget removes the names of entities that are deleted.
func QueueForget(b *pgx.Batch, refs []event.EntityRef) {
	providers, kinds, ids := entities.ColumnsOfRefs(refs)
	b.Queue(forgetNames, providers, kinds, ids)
}
