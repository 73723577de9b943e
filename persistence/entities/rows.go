package entities

import (
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/feed"
	"holdfast/persistence/postgres"
)

// All transactions lock existing rows in the same order, then insert new rows in that order, so that they can't deadlock.
const (
	// lockEntities locks the entities that the given changes touch, and those to which an earlier parse linked the given
	// events: FOR UPDATE if an entity may be removed, FOR NO KEY UPDATE if it changes, FOR KEY SHARE if it is only mentioned.
	lockEntities = `
SELECT e.* FROM (
       SELECT provider, kind, external_id, max(need) AS need FROM (
              SELECT provider, kind, external_id, need
                FROM unnest($1::text[], $2::text[], $3::text[], $4::integer[]) AS change (provider, kind, external_id, need)
               UNION ALL
              SELECT provider, kind, external_id, 2 FROM event_entities WHERE event_id = ANY ($5::uuid[])) AS touched
        GROUP BY provider, kind, external_id
        ORDER BY provider COLLATE "C", kind COLLATE "C", external_id COLLATE "C") AS touched
 CROSS JOIN LATERAL (
       SELECT * FROM (` + selectLife + ` AND touched.need = 2 FOR UPDATE) AS whole
        UNION ALL
       SELECT * FROM (` + selectLife + ` AND touched.need = 1 FOR NO KEY UPDATE) AS changed
        UNION ALL
       SELECT * FROM (` + selectLife + ` AND touched.need = 0 FOR KEY SHARE) AS mentioned) AS e`

	selectLife = lifeColumns + `
         FROM entities
        WHERE provider = touched.provider AND kind = touched.kind AND external_id = touched.external_id`

	lifeColumns = EntityColumns + `, provider, reset_version, reset_at, coalesce(reset_id::text, ''), links, latest_at,
       base_version, base_at, coalesce(base_id::text, ''), revision,
       lost_version, lost_at, coalesce(lost_id::text, ''),
       purged_events, coalesce(purged_sum, 0), coalesce(purged_mentions, false)`

	EntityColumns = `
SELECT kind, external_id, state, deleted, version, occurred_at, coalesce(last_event_id::text, '')`

	// lockedEntities selects the entities that lockEntities can't lock now, because another transaction has locked them.
	lockedEntities = `
SELECT provider, kind, external_id
  FROM unnest($1::text[], $2::text[], $3::text[], $4::integer[]) AS wanted (provider, kind, external_id, need)
  LEFT JOIN LATERAL (
       SELECT * FROM (
              SELECT true AS is_free FROM entities
               WHERE provider = wanted.provider AND kind = wanted.kind AND external_id = wanted.external_id AND wanted.need = 1
                 FOR NO KEY UPDATE SKIP LOCKED) AS changed
        UNION ALL
       SELECT * FROM (
              SELECT true FROM entities
               WHERE provider = wanted.provider AND kind = wanted.kind AND external_id = wanted.external_id AND wanted.need = 0
                 FOR KEY SHARE SKIP LOCKED) AS mentioned) AS locked ON true
 WHERE is_free IS NULL
   AND EXISTS (SELECT FROM entities
                WHERE provider = wanted.provider AND kind = wanted.kind AND external_id = wanted.external_id OFFSET 0)`

	// lockTables fails if another transaction has locked one of the tables.
	lockTables = `
LOCK TABLE idempotency_keys, events, event_entities, entities, entity_names, entity_checkpoints, entity_bases
  IN ROW EXCLUSIVE MODE NOWAIT`

	makeEntities = `
INSERT INTO entities (provider, kind, external_id, state, deleted, version, occurred_at, last_event_id,
       reset_version, reset_at, reset_id, links, latest_at, revision,
       lost_version, lost_at, lost_id, purged_events, purged_sum, purged_mentions)
SELECT provider, kind, external_id, state::jsonb, deleted, version, occurred_at, last_event_id,
       reset_version, reset_at, reset_id, links, latest_at, revision,
       lost_version, lost_at, lost_id, purged_events, purged_sum, purged_mentions
  FROM ` + entityRows

	writeEntities = `
UPDATE entities AS e
   SET state = f.state::jsonb, deleted = f.deleted, version = f.version, occurred_at = f.occurred_at,
       last_event_id = f.last_event_id, reset_version = f.reset_version, reset_at = f.reset_at, reset_id = f.reset_id,
       links = f.links, latest_at = f.latest_at, revision = f.revision, lost_version = f.lost_version, lost_at = f.lost_at,
       lost_id = f.lost_id, purged_events = f.purged_events, purged_sum = f.purged_sum, purged_mentions = f.purged_mentions,
       updated_at = now()
  FROM (SELECT * FROM ` + entityRows + placeOfEntity + `) AS f
 WHERE e.ctid = f.place`

	entityRows = `unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::boolean[], $6::bigint[], $7::timestamptz[], $8::uuid[],
       $9::bigint[], $10::timestamptz[], $11::uuid[], $12::bigint[], $13::timestamptz[], $14::bigint[],
       $15::bigint[], $16::timestamptz[], $17::uuid[], $18::bigint[], $19::bigint[], $20::boolean[])
       AS row (provider, kind, external_id, state, deleted, version, occurred_at, last_event_id,
               reset_version, reset_at, reset_id, links, latest_at, revision,
               lost_version, lost_at, lost_id, purged_events, purged_sum, purged_mentions)`

	// removeEntities deletes entities that have no links left.
	removeEntities = `
DELETE FROM entities WHERE ctid = ANY (ARRAY(
       SELECT place FROM unnest($1::text[], $2::text[], $3::text[]) AS row (provider, kind, external_id)` + placeOfEntity + `))`

	// placeOfEntity looks a row up. It stays where it is, since the transaction has locked it.
	placeOfEntity = `
        CROSS JOIN LATERAL (
              SELECT ctid AS place FROM entities
               WHERE provider = row.provider AND kind = row.kind AND external_id = row.external_id OFFSET 0) AS here`
)

// QueueLocks queues a statement that locks what a transaction needs and the entities that the given events are linked to. It
// stores those that exist in into.
func QueueLocks(b *pgx.Batch, n Needs, events []string, into map[event.EntityRef]*Life) {
	b.Queue(lockEntities, n.providers, n.kinds, n.ids, n.needs, events).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			l, err := scanLife(rows)
			if err != nil {
				return err
			}
			into[l.EntityRef] = l
		}
		return rows.Err()
	})
}

// The lock that an event needs on an entity, as numbered in lockEntities.
const (
	toMention int32 = iota
	toChange
	toRemove
)

// Needs lists the entities to lock, possibly with repeats, and how strongly.
type Needs struct {
	providers, kinds, ids []string
	needs                 []int32
}

// Add adds the lock that a change needs on its entity.
func (n *Needs) Add(ref event.EntityRef, c event.Change) {
	need := toChange
	if c.Mentions() && len(c.Names) == 0 { // a name may cause a merge
		need = toMention
	}
	n.add(ref, need)
}

func (n *Needs) add(ref event.EntityRef, need int32) {
	n.providers, n.kinds, n.ids = append(n.providers, ref.Provider), append(n.kinds, ref.Kind), append(n.ids, ref.ExternalID)
	n.needs = append(n.needs, need)
}

// Rebase adds an entity whose base may be replaced, or whose state may become incomplete.
func (n *Needs) Rebase(ref event.EntityRef) { n.add(ref, toChange) }

// Remove adds an entity that may be removed.
func (n *Needs) Remove(ref event.EntityRef) { n.add(ref, toRemove) }

// Merge adds an entity to be removed, and the one that gets its links.
func (n *Needs) Merge(from, into event.EntityRef) {
	n.add(from, toRemove)
	n.add(into, toChange)
}

// QueueRemoval removes the rows and checkpoints of entities whose links moved to another entity.
func (s *Store) QueueRemoval(b *pgx.Batch, refs []event.EntityRef) {
	providers, kinds, ids := ColumnsOfRefs(refs)
	above, none := make([]int64, len(refs)), make([]int64, len(refs))
	for i := range above {
		above[i] = -1 // all checkpoints
	}
	b.Queue(dropCheckpoints, providers, kinds, ids, above, none, s.every)
	b.Queue(removeEntities, providers, kinds, ids)
}

// QueueLocked finds entities that another transaction has locked. It fails if a whole table is locked.
func QueueLocked(b *pgx.Batch, n Needs, into map[event.EntityRef]bool) {
	b.Queue(lockTables)
	var ref event.EntityRef
	b.Queue(lockedEntities, n.providers, n.kinds, n.ids, n.needs).Query(postgres.ForEach(RefColumns(&ref), func() {
		into[ref] = true
	}))
}

// ScanEntity scans EntityColumns into e, and any further columns into more.
func ScanEntity(row pgx.Row, e *event.Entity, more ...any) error {
	columns := []any{
		&e.Kind, &e.ExternalID, &e.State, &e.Deleted, &e.Last.Version, postgres.TimeOrZero(&e.Last.OccurredAt), &e.Last.EventID,
	}
	return row.Scan(append(columns, more...)...)
}

func scanLife(row pgx.Row) (*Life, error) {
	var l Life
	var links *int64
	err := ScanEntity(row, &l.Entity, &l.Provider, &l.reset.Version, postgres.TimeOrZero(&l.reset.OccurredAt), &l.reset.EventID,
		&links, postgres.TimeOrZero(&l.latest),
		&l.base.Version, postgres.TimeOrZero(&l.base.OccurredAt), &l.base.EventID, &l.revision,
		&l.lost.Version, postgres.TimeOrZero(&l.lost.OccurredAt), &l.lost.EventID,
		&l.purged.events, &l.purged.sum, &l.purged.mentions)
	if l.isKnown = links != nil; l.isKnown {
		l.links, l.covered, l.before = *links, *links, *links
	}
	l.at, l.above = l.Last, math.MaxInt64
	was := l
	l.row = &was
	return &l, err
}

// queueEntities writes folded entities in the common insertion order, and returns their change events. Those in locked exist
// already; unchanged ones are not written.
func queueEntities(b *pgx.Batch, folded []*Life, locked map[event.EntityRef]*Life) (reported []feed.Change) {
	var made, changed, gone []*Life
	for _, l := range folded {
		was := locked[l.EntityRef]
		switch {
		case was == nil && l.isGone:
		case was == nil:
			made = append(made, l)
			reported = append(reported, l.changeEvent(feed.Created))
		case l.isGone:
			l.revision = was.row.revision
			gone = append(gone, l)
			reported = append(reported, l.Removed())
		case !l.isAs(was.row):
			l.revision = was.row.revision + 1
			changed = append(changed, l)
			reported = append(reported, l.changeEvent(feed.Changed))
		}
	}
	if len(changed) > 0 {
		b.Queue(writeEntities, columnsOfLives(changed)...)
	}
	if len(gone) > 0 {
		b.Queue(removeEntities, columnsOfLives(gone)[:3]...)
	}
	if len(made) > 0 {
		b.Queue(makeEntities, columnsOfLives(made)...)
	}
	return reported
}

// columnsOfLives returns lives as arrays, one for each column.
func columnsOfLives(lives []*Life) []any {
	return append(ColumnsOfEntities(postgres.Column(lives, func(l *Life) event.Entity { return l.Entity })),
		postgres.Column(lives, func(l *Life) *int64 { return l.reset.Version }),
		postgres.Column(lives, func(l *Life) *time.Time { return orNull(l.reset.OccurredAt) }),
		postgres.Column(lives, func(l *Life) *string { return orNull(l.reset.EventID) }),
		postgres.Column(lives, func(l *Life) *int64 {
			if l.isKnown {
				return &l.links
			}
			return nil
		}),
		postgres.Column(lives, func(l *Life) *time.Time { return orNull(l.latest) }),
		postgres.Column(lives, func(l *Life) int64 { return l.revision }),
		postgres.Column(lives, func(l *Life) *int64 { return l.lost.Version }),
		postgres.Column(lives, func(l *Life) *time.Time { return orNull(l.lost.OccurredAt) }),
		postgres.Column(lives, func(l *Life) *string { return orNull(l.lost.EventID) }),
		postgres.Column(lives, func(l *Life) *int64 { return l.purged.events }),
		postgres.Column(lives, func(l *Life) int64 { return l.purged.sum }),
		postgres.Column(lives, func(l *Life) bool { return l.purged.mentions }))
}

// ColumnsOfEntities returns entities as arrays, one for each column.
func ColumnsOfEntities(entities []event.Entity) []any {
	return []any{
		postgres.Column(entities, func(e event.Entity) string { return e.Provider }),
		postgres.Column(entities, func(e event.Entity) string { return e.Kind }),
		postgres.Column(entities, func(e event.Entity) string { return e.ExternalID }),
		postgres.Column(entities, func(e event.Entity) string { return string(e.State) }),
		postgres.Column(entities, func(e event.Entity) bool { return e.Deleted }),
		postgres.Column(entities, func(e event.Entity) *int64 { return e.Last.Version }),
		postgres.Column(entities, func(e event.Entity) *time.Time { return orNull(e.Last.OccurredAt) }),
		postgres.Column(entities, func(e event.Entity) *string { return orNull(e.Last.EventID) }),
	}
}

// orNull returns nil for the zero value.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// NameOf describes an entity in an error without its ID, which may be personal data (an email address, a phone number).
func NameOf(ref event.EntityRef) string { return "entity of kind " + postgres.Clean(ref.Kind) }
