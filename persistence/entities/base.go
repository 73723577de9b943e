package entities

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

// A base is the state of an entity after the changes that were removed because their events are purged. It is a checkpoint that
// is never invalidated: a change at or before it has no effect, and every fold begins there or later.

const (
	// linksPerPage bounds the links that one transaction adds to a base. linksPerRemoval bounds the out-of-order links that it
	// also removes. pagesPerCollapse bounds the transactions for one entity in one batch of a purge; the next batch that
	// touches the entity continues.
	linksPerPage     = 1000
	linksPerRemoval  = 20_000
	pagesPerCollapse = 20
)

const (
	baseOfEntity = `
SELECT links, version, occurred_at, event_id::text, latest_at, state, deleted FROM entity_bases
 WHERE provider = $1 AND kind = $2 AND external_id = $3`

	// IsWithoutEffect is the condition that a link l has no effect: its change is at or before its entity's base.
	IsWithoutEffect = IsChange + ` AND EXISTS (
       SELECT FROM entities AS b
        WHERE b.provider = l.provider AND b.kind = l.kind AND b.external_id = l.external_id AND b.base_id IS NOT NULL
          AND (coalesce(l.version::numeric, '-Infinity'), l.occurred_at, l.event_id)
           <= (coalesce(b.base_version::numeric, '-Infinity'), b.base_at, b.base_id))`

	// collapsible selects the entities that purged events touched and that have at least $2 changes or $2 mentions, by any
	// event. It stops counting at $2.
	collapsible = `
SELECT provider, kind, external_id FROM (
       SELECT DISTINCT provider, kind, external_id FROM event_entities WHERE event_id = ANY ($1::uuid[])) AS e
 WHERE EXISTS (SELECT FROM event_entities AS l
                WHERE l.provider = e.provider AND l.kind = e.kind AND l.external_id = e.external_id AND ` + IsChange + `
               OFFSET $2::bigint - 1)
    OR EXISTS (SELECT FROM event_entities AS l
                WHERE l.provider = e.provider AND l.kind = e.kind AND l.external_id = e.external_id AND ` + IsMention + `
               OFFSET $2::bigint - 1)
 ORDER BY provider COLLATE "C", kind COLLATE "C", external_id COLLATE "C"`

	// lockToCollapse skips locked rows.
	lockToCollapse = lifeColumns + `
  FROM entities WHERE provider = $1 AND kind = $2 AND external_id = $3 FOR NO KEY UPDATE SKIP LOCKED`

	// oldestChanges reads a page of the changes after the base, and whether the event of each still exists or is too young to be
	// purged.
	oldestChanges = `
SELECT kind, external_id, op, change, version, occurred_at, event_id::text,
       event_id >= $7::uuid OR EXISTS (SELECT FROM events WHERE id = l.event_id OFFSET 0)
  FROM event_entities AS l
 WHERE provider = $1 AND kind = $2 AND external_id = $3 AND ` + IsChange + `
   AND (coalesce(version::numeric, '-Infinity'), occurred_at, event_id)
     > (coalesce($4::bigint::numeric, '-Infinity'), $5::timestamptz, $6::uuid)
 ORDER BY coalesce(version::numeric, '-Infinity'), occurred_at, l.event_id, position
 LIMIT $8`

	writeBase = `
INSERT INTO entity_bases AS b (provider, kind, external_id, links, version, occurred_at, event_id, latest_at, state, deleted,
       collapsed, recorded, first_id, last_id)
VALUES ($1, $2, $3, $4, $5, $6, $7::uuid, $8, $9::text::jsonb, $10, $11, $11, $12::uuid, $13::uuid)
    ON CONFLICT (provider, kind, external_id) DO UPDATE
   SET links = excluded.links, version = excluded.version, occurred_at = excluded.occurred_at, event_id = excluded.event_id,
       latest_at = excluded.latest_at, state = excluded.state, deleted = excluded.deleted,
       collapsed = b.collapsed + excluded.collapsed, recorded = b.recorded + excluded.recorded,
       first_id = least(b.first_id, excluded.first_id), last_id = greatest(b.last_id, excluded.last_id),
       collapsed_at = excluded.collapsed_at`

	// moveToBase sets the entity's new base, without changing its state. A reset covered by the base isn't needed any more.
	moveToBase = `
UPDATE entities
   SET base_version = $4, base_at = $5, base_id = $6::uuid, lost_version = $8, lost_at = $9, lost_id = $10,
       reset_version = CASE WHEN covered THEN NULL ELSE reset_version END,
       reset_at = CASE WHEN covered THEN NULL ELSE reset_at END,
       reset_id = CASE WHEN covered THEN NULL ELSE reset_id END
  FROM (SELECT $7::boolean) AS of (covered)
 WHERE provider = $1 AND kind = $2 AND external_id = $3`

	dropCovered = `
DELETE FROM entity_checkpoints
 WHERE provider = $1 AND kind = $2 AND external_id = $3
   AND (coalesce(version::numeric, '-Infinity'), occurred_at, event_id)
     <= (coalesce($4::bigint::numeric, '-Infinity'), $5, $6::uuid)`

	// removeCovered removes out-of-order changes at or before the base whose event is purged.
	removeCovered = `
WITH gone AS (
DELETE FROM event_entities WHERE ctid = ANY (ARRAY (
       SELECT ctid FROM event_entities AS l
        WHERE provider = $1 AND kind = $2 AND external_id = $3 AND ` + IsChange + `
          AND (coalesce(version::numeric, '-Infinity'), occurred_at, event_id)
            <= (coalesce($4::bigint::numeric, '-Infinity'), $5, $6::uuid)
          AND event_id < $7::uuid AND NOT EXISTS (SELECT FROM events WHERE id = l.event_id OFFSET 0)
        ORDER BY coalesce(version::numeric, '-Infinity'), occurred_at, event_id, position
        LIMIT $8))
RETURNING event_id)
UPDATE entities SET purged_events = purged_events + n.events, purged_sum = coalesce(purged_sum, 0) # n.sum
  FROM (SELECT count(DISTINCT event_id) AS events, coalesce(` + SumOfEvents + `, 0) AS sum FROM gone) AS n
 WHERE provider = $1 AND kind = $2 AND external_id = $3`

	// removeMentions keeps the last purged mention, since the entity may exist only because of it.
	removeMentions = `
WITH gone AS (
DELETE FROM event_entities WHERE ctid = ANY (ARRAY (
       SELECT place FROM (
              SELECT ctid AS place, lead(ctid) OVER (ORDER BY rank, occurred_at, event_id, position) IS NULL AS is_last FROM (
                     SELECT ctid, coalesce(version::numeric, '-Infinity') AS rank, occurred_at, event_id, position
                       FROM event_entities
                      WHERE provider = $1 AND kind = $2 AND external_id = $3 AND ` + IsMention + `
                      ORDER BY coalesce(version::numeric, '-Infinity'), occurred_at, event_id, position
                      LIMIT $5) AS oldest
               WHERE event_id < $4::uuid AND NOT EXISTS (SELECT FROM events WHERE id = oldest.event_id OFFSET 0)) AS purged
        WHERE NOT is_last))
RETURNING 1), noted AS (
UPDATE entities SET purged_mentions = true
 WHERE provider = $1 AND kind = $2 AND external_id = $3 AND purged_mentions IS NOT TRUE AND EXISTS (SELECT FROM gone))
SELECT count(*) FROM gone`
)

// queueBase begins the fold at the base, if there is one.
func (a *refold) queueBase(b *pgx.Batch) {
	if a.base.EventID == "" {
		return
	}
	b.Queue(baseOfEntity, a.Provider, a.Kind, a.ExternalID).Query(func(rows pgx.Rows) error {
		defer rows.Close()
		for rows.Next() {
			c := checkpoint{Entity: event.Entity{EntityRef: a.EntityRef}}
			if err := scanCheckpoint(rows, &c); err != nil {
				return err
			}
			if !a.until.IsZero() && c.latest.After(a.until) {
				a.lostBefore = c.latest
				continue
			}
			a.startAt(c)
			a.above = 0
		}
		return rows.Err()
	})
}

// orderArgs returns an order as arguments of a comparison; the zero order precedes all others.
func orderArgs(o event.Order) (version *int64, at pgtype.Timestamptz, id string) {
	if o.EventID == "" {
		return nil, pgtype.Timestamptz{InfinityModifier: pgtype.NegativeInfinity, Valid: true}, pgtype.UUID{Valid: true}.String()
	}
	return o.Version, pgtype.Timestamptz{Time: o.OccurredAt, Valid: true}, o.EventID
}

// Collapse moves the changes of purged events into the bases of their entities, in one transaction for each page of an entity.
// The given events have just been purged; bound is the first event ID that is too recent to be purged.
func (s *Store) Collapse(ctx context.Context, purged []string, bound string) error {
	if len(purged) == 0 {
		return nil
	}
	var refs []event.EntityRef
	b := &pgx.Batch{}
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	b.Queue(collapsible, purged, s.every).Query(postgres.Collect(&refs, ScanRef))
	if err := s.db.SendRead(ctx, b); err != nil {
		return err
	}
	for _, ref := range refs {
		for range pagesPerCollapse {
			more, err := s.collapsePage(ctx, ref, bound)
			if err != nil {
				return err
			}
			if !more {
				break
			}
		}
	}
	return nil
}

// collapsing is an entity whose oldest changes are moved into its base.
type collapsing struct {
	*refold

	reset       event.Order // as in the row
	page        []event.OrderedChange
	isLast      bool // no further page follows
	first, last string
}

// collapsePage collapses the next page of an entity, and reports whether there may be another.
func (s *Store) collapsePage(ctx context.Context, ref event.EntityRef, bound string) (more bool, err error) {
	var c *collapsing
	b := &pgx.Batch{}
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	b.Queue(lockToCollapse, ref.Provider, ref.Kind, ref.ExternalID).Query(func(rows pgx.Rows) error {
		defer rows.Close()
		for rows.Next() {
			l, err := scanLife(rows)
			if err != nil {
				return err
			}
			c = &collapsing{refold: &refold{Life: newLife(ref)}, reset: l.reset}
			c.base, c.lost = l.base, l.lost
		}
		return rows.Err()
	})
	tx, err := s.db.Begin(ctx, b)
	if err != nil {
		return false, err
	}
	defer tx.Rollback(ctx)
	if c == nil {
		return false, nil
	}
	b = &pgx.Batch{}
	c.queueBase(b)
	c.queueOldest(b, bound)
	if err := tx.Flush(ctx, b); err != nil {
		return false, err
	}
	taken, err := c.collapse(s.every)
	if err != nil {
		return false, err
	}
	if taken {
		c.queueWrites(b, bound)
	}
	var mentions int64
	b.Queue(removeMentions, ref.Provider, ref.Kind, ref.ExternalID, bound, linksPerPage).
		QueryRow(func(row pgx.Row) error { return row.Scan(&mentions) })
	if err := tx.Commit(ctx, b); err != nil {
		return false, err
	}
	return taken && !c.isLast || mentions == linksPerPage-1, nil
}

// queueOldest reads the changes after the base, up to the first whose event still exists.
func (c *collapsing) queueOldest(b *pgx.Batch, bound string) {
	version, at, id := orderArgs(c.base)
	b.Queue(oldestChanges, c.Provider, c.Kind, c.ExternalID, version, at, id, bound, linksPerPage).Query(func(rows pgx.Rows) error {
		defer rows.Close()
		read := 0
		for rows.Next() {
			var stays bool
			o, err := ScanOrdered(rows, &stays)
			if err != nil {
				return err
			}
			if read++; stays {
				c.isLast = true
				break
			}
			c.page = append(c.page, o)
		}
		c.isLast = c.isLast || read < linksPerPage
		return rows.Err()
	})
}

// collapse folds the page onto the base, and reports whether to store the base. If there are fewer changes than a checkpoint
// interval, they stay, since removing them would save nothing.
func (c *collapsing) collapse(every int64) (bool, error) {
	if !c.isLast { // the last event may continue on the next page
		last := c.page[len(c.page)-1].Order
		for len(c.page) > 0 && c.page[len(c.page)-1].Order.Compare(last) == 0 {
			c.page = c.page[:len(c.page)-1]
		}
	}
	if int64(len(c.page)) < every {
		return false, nil
	}
	for _, o := range c.page {
		c.count(o)
		if id := o.Order.EventID; c.first == "" || id < c.first {
			c.first = id
		}
		c.last = max(c.last, o.Order.EventID)
	}
	if err := c.apply(c.page); err != nil {
		return false, err
	}
	return fits(c.Entity), nil // an out-of-order change can make an intermediate state too large
}

// settleLost records which changes the base is missing. A base that contains a snapshot or a delete after the lost changes is
// complete. Any other base is missing them, and so is every state folded from it.
func (c *collapsing) settleLost() {
	switch {
	case c.lost.EventID == "":
	case !c.isIncomplete():
		c.lost = event.Order{}
	default:
		c.lose(c.Last)
	}
}

func (c *collapsing) queueWrites(b *pgx.Batch, bound string) {
	o := c.Last
	b.Queue(writeBase, c.Provider, c.Kind, c.ExternalID, c.links, o.Version, o.OccurredAt, o.EventID, c.latest, string(c.State),
		c.Deleted, len(c.page), c.first, c.last)
	isCovered := c.reset.EventID != "" && c.reset.Compare(o) <= 0
	c.settleLost()
	b.Queue(moveToBase, c.Provider, c.Kind, c.ExternalID, o.Version, o.OccurredAt, o.EventID, isCovered,
		c.lost.Version, orNull(c.lost.OccurredAt), orNull(c.lost.EventID))
	queueBaseEvents(b, c.EntityRef, c.page)
	b.Queue(forgetBaseEvents, c.Provider, c.Kind, c.ExternalID, int64(knownChanges))
	b.Queue(dropCovered, c.Provider, c.Kind, c.ExternalID, o.Version, o.OccurredAt, o.EventID)
	b.Queue(removeCovered, c.Provider, c.Kind, c.ExternalID, o.Version, o.OccurredAt, o.EventID, bound, linksPerRemoval)
}
