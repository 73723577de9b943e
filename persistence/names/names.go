package names

import (
	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/entities"
)

// A kind of entity may have several names: see event.Name. Who writes an entity by a name holds the lock of that name and the one
// of what it stands for, from before it reads names until the end of its transaction. So two that speak of one entity, by
// whichever names, come one after the other.
const (
	// lockNames locks names and what they stand for, in one order, and gives those that it has locked: while it waited a name may
	// have come to stand for another.
	lockNames = `
SELECT provider, kind, name, pg_advisory_xact_lock(h)::text FROM (
       SELECT provider, kind, name, ` + hashOfName + ` AS h FROM (
              SELECT * FROM ` + saidNames + `
               UNION
              SELECT provider, kind, n.external_id FROM ` + saidNames + ` JOIN entity_names AS n USING (provider, kind, name)
              ) AS wanted
        ORDER BY h, name) AS in_one_order`

	hashOfName = `hashtextextended(jsonb_build_array(provider, kind, name)::text, 1)`

	// heldNames are names that somebody else has locked, or what they stand for.
	heldNames = `
SELECT provider, kind, name FROM (
       SELECT provider, kind, name, n.external_id
         FROM ` + saidNames + ` LEFT JOIN entity_names AS n USING (provider, kind, name)) AS s
 WHERE NOT pg_try_advisory_xact_lock(` + hashOfName + `)
    OR NOT coalesce((SELECT pg_try_advisory_xact_lock(` + hashOfName + `)
                       FROM (SELECT s.provider, s.kind, s.external_id AS name) AS root WHERE name IS NOT NULL), true)`

	readNames = `
SELECT provider, kind, name, external_id, rank FROM ` + saidNames + ` JOIN entity_names USING (provider, kind, name)`

	saidNames = `unnest($1::text[], $2::text[], $3::text[]) AS said (provider, kind, name)`

	learnNames = `
INSERT INTO entity_names (provider, kind, name, external_id, rank)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::smallint[])
    ON CONFLICT (provider, kind, name) DO UPDATE SET external_id = excluded.external_id, rank = excluded.rank`

	// repointNames: what stood for a name that stands for another entity now stands for that entity.
	repointNames = `
UPDATE entity_names AS n SET external_id = t.external_id, rank = t.rank
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::smallint[]) AS t (provider, kind, name, external_id, rank)
 WHERE n.provider = t.provider AND n.kind = t.kind AND n.external_id = t.name`

	// lockNamesOfEvent locks what an event is linked to, under its best name.
	lockNamesOfEvent = `
SELECT pg_advisory_xact_lock(h) FROM (
       SELECT DISTINCT ` + hashOfName + ` AS h FROM (
              SELECT provider, kind, external_id AS name FROM event_entities WHERE event_id = $1::uuid) AS linked
        ORDER BY h) AS in_one_order`

	// forgetNames removes those of entities that are gone.
	forgetNames = `
DELETE FROM entity_names AS n USING unnest($1::text[], $2::text[], $3::text[]) AS t (provider, kind, external_id)
 WHERE n.provider = t.provider AND n.kind = t.kind AND n.external_id = t.external_id
   AND NOT EXISTS (SELECT FROM entities AS e
                    WHERE e.provider = t.provider AND e.kind = t.kind AND e.external_id = t.external_id)`
)

// QueueLocks locks names, and reads what they stand for.
func QueueLocks(b *pgx.Batch, said []event.EntityRef, locked map[event.EntityRef]bool, known *Identities) {
	providers, kinds, names := entities.ColumnsOfRefs(said)
	b.Queue(lockNames, providers, kinds, names).Query(func(rows pgx.Rows) error {
		var ref event.EntityRef
		var void string
		_, err := pgx.ForEachRow(rows, []any{&ref.Provider, &ref.Kind, &ref.ExternalID, &void}, func() error {
			locked[ref] = true
			return nil
		})
		return err
	})
	QueueKnown(b, said, known)
}

// QueueKnown reads what names stand for.
func QueueKnown(b *pgx.Batch, said []event.EntityRef, known *Identities) {
	providers, kinds, names := entities.ColumnsOfRefs(said)
	b.Queue(readNames, providers, kinds, names).Query(func(rows pgx.Rows) error {
		var name event.EntityRef
		var id string
		var rank int
		_, err := pgx.ForEachRow(rows, []any{&name.Provider, &name.Kind, &name.ExternalID, &id, &rank}, func() error {
			known.knows(name, event.EntityRef{Provider: name.Provider, Kind: name.Kind, ExternalID: id}, rank)
			return nil
		})
		return err
	})
}

// QueueHeld looks for those that somebody else has locked at this moment.
func QueueHeld(b *pgx.Batch, said []event.EntityRef, held map[event.EntityRef]bool) {
	providers, kinds, names := entities.ColumnsOfRefs(said)
	b.Queue(heldNames, providers, kinds, names).Query(func(rows pgx.Rows) error {
		var ref event.EntityRef
		_, err := pgx.ForEachRow(rows, []any{&ref.Provider, &ref.Kind, &ref.ExternalID}, func() error {
			held[ref] = true
			return nil
		})
		return err
	})
}

// QueueLocksOfEvent locks the names that an event is linked to.
func QueueLocksOfEvent(b *pgx.Batch, eventID string) { b.Queue(lockNamesOfEvent, eventID) }

// QueueLearned writes what the table does not know yet.
func QueueLearned(b *pgx.Batch, known *Identities) {
	if moved := known.moved(); len(moved) > 0 {
		b.Queue(repointNames, known.Columns(moved)...)
	}
	if learned := known.Learned(); len(learned) > 0 {
		b.Queue(learnNames, known.Columns(learned)...)
	}
}

// QueueForget removes the names of those of the entities that are gone.
func QueueForget(b *pgx.Batch, refs []event.EntityRef) {
	providers, kinds, ids := entities.ColumnsOfRefs(refs)
	b.Queue(forgetNames, providers, kinds, ids)
}
