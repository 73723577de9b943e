package upkeep

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/event/retention"
	"holdfast/persistence/audit"
	"holdfast/persistence/changes"
	"holdfast/persistence/deadletters"
	"holdfast/persistence/decisions"
	"holdfast/persistence/duplicates"
	"holdfast/persistence/entities"
	"holdfast/persistence/fetches"
	"holdfast/persistence/minutes"
	"holdfast/persistence/observed"
	"holdfast/persistence/outbox"
	"holdfast/persistence/postgres"
	"holdfast/persistence/rates"
)

// purgeRows is how many rows one batch removes, in a transaction of a few milliseconds. Other transactions wait no longer than
// that for one of its rows, and locked rows are left for the next batch.
const purgeRows = 500

// purgeLinkRows bounds the changes that one transaction removes: one entity may have millions before a snapshot.
const purgeLinkRows = 20_000

// Only events that are processed or discarded are removed, never those that still wait for an operator or a destination. Locked
// events are left for later: the purge waits for no event's lock, and no transaction that holds one waits for the purge.
const purgeEvents = `
DELETE FROM events WHERE id = ANY (ARRAY(
       SELECT id FROM (
              SELECT id FROM events AS e
               WHERE e.id < $1::uuid AND e.id > $3::uuid AND ` + isOutdated + `$4::timestamptz
               ORDER BY e.id LIMIT $2
                 FOR UPDATE SKIP LOCKED) AS old
        WHERE pg_try_advisory_xact_lock(hashtextextended(id::text, 0))))
RETURNING id::text`

// purgeReadEvents removes only rows that were read, and have not changed since.
const purgeReadEvents = `
DELETE FROM events WHERE id = ANY (ARRAY(
       SELECT id FROM (
              SELECT e.id FROM unnest($2::uuid[], $3::text[]) AS was (id, version) CROSS JOIN LATERAL (
                     SELECT id FROM events AS e
                      WHERE e.id = was.id AND e.id < $1::uuid AND e.xmin::text = was.version AND ` + isOutdated + `$4::timestamptz
                        FOR UPDATE SKIP LOCKED) AS e) AS old
        WHERE pg_try_advisory_xact_lock(hashtextextended(id::text, 0))))
RETURNING id::text`

// isOutdated ends with the time before which the last run of the event must have finished it: until Temporal has deleted that
// run, a reset could bring the event back. The order makes PostgreSQL look the event up by the primary key of the queue: its
// other index has the event, too, but not first.
const isOutdated = `e.status IN ('processed', 'dead')
                 AND NOT EXISTS (SELECT FROM (
                                        SELECT state, subscription_id FROM dead_letters WHERE event_id = e.id OFFSET 0) AS d
                                  WHERE d.state IN ('open', 'replaying', 'exhausted')
                                    AND (e.status = 'dead' OR d.subscription_id > 0))
                 AND NOT EXISTS (SELECT FROM (
                                        SELECT event_id FROM delivery_queue WHERE event_id >= e.id ORDER BY event_id LIMIT 1) AS q
                                  WHERE q.event_id = e.id)
                 AND NOT EXISTS (SELECT FROM delivery_fanouts AS f WHERE f.event_id = e.id OFFSET 0)
                 AND NOT EXISTS (SELECT FROM delivery_unmatched AS u WHERE u.event_id = e.id OFFSET 0)
                 AND coalesce(greatest(e.processed_at, e.rerun_at), '-infinity') < `

// purgeLinks removes the changes of purged events that no fold will ever read: those before the last snapshot or delete that
// these events made. That one stays, and so do all that follow it. So an entity keeps its state, an out-of-order event finds what
// it folds onto, and a correction of any remaining event falls back to the state before it.
//
// It begins with the given events, and so reads nothing of an entity that they only patch or mention, however many others do.
// Changes that arrived before a snapshot that was purged earlier are removed with the next purged snapshot of their entity.
//
// An event is purged if its row is gone; $2 only saves looking up events that are too young.
//
// It records at the entity what it removes: the state can be folded completely only from the snapshot on that replaced the
// removed changes. It doesn't wait for locks: the changes of a locked entity stay, and are removed with the next snapshot that is
// purged. If another transaction releases the lock in the middle of the statement, it still removes nothing of that entity: an
// event that is removed in two parts would be counted twice.
const purgeLinks = `
WITH base AS MATERIALIZED (
     SELECT DISTINCT ON (provider, kind, external_id)
            provider, kind, external_id, version AS given, coalesce(version::numeric, '-Infinity') AS version,
            occurred_at, event_id, position
       FROM unnest($1::uuid[]) AS purged (id)
      CROSS JOIN LATERAL (SELECT * FROM event_entities WHERE event_id = purged.id AND op <> 'patch' OFFSET 0) AS l
      ORDER BY provider, kind, external_id, coalesce(version::numeric, '-Infinity') DESC, occurred_at DESC, event_id DESC,
            position DESC
), below AS MATERIALIZED (
     SELECT e.entity_place, b.given, b.version, b.occurred_at, b.event_id AS base_id, l.place, l.event_id, l.is_change
       FROM base AS b
      CROSS JOIN LATERAL (` + changesBelow + `
      UNION ALL` + mentionsBelow + `) AS l
      CROSS JOIN LATERAL (
            SELECT ctid AS entity_place FROM entities
             WHERE provider = b.provider AND kind = b.kind AND external_id = b.external_id OFFSET 0) AS e
      LIMIT $3
), locked AS MATERIALIZED (
     SELECT * FROM (SELECT *, bool_and(EXISTS (SELECT FROM entities WHERE ctid = b.entity_place FOR NO KEY UPDATE SKIP LOCKED))
                                OVER (PARTITION BY entity_place) AS is_ours
                      FROM below AS b) AS b
      WHERE is_ours
), gone AS (
     DELETE FROM event_entities AS l USING locked AS b WHERE l.ctid = b.place
  RETURNING b.entity_place, b.given, b.version, b.occurred_at, b.base_id, b.event_id, b.is_change
), noted AS (
     UPDATE entities AS e
        SET purged_events = e.purged_events + n.events, purged_sum = coalesce(e.purged_sum, 0) # n.sum,
            purged_mentions = e.purged_mentions IS TRUE OR n.mentions,
            lost_version = CASE WHEN ` + movesLost + ` THEN n.given ELSE e.lost_version END,
            lost_at = CASE WHEN ` + movesLost + ` THEN n.occurred_at ELSE e.lost_at END,
            lost_id = CASE WHEN ` + movesLost + ` THEN n.base_id ELSE e.lost_id END
       FROM (SELECT entity_place, given, version, occurred_at, base_id,
                    count(DISTINCT event_id) FILTER (WHERE is_change) AS events,
                    coalesce(` + entities.SumOfEvents + ` FILTER (WHERE is_change), 0) AS sum,
                    bool_or(NOT is_change) AS mentions
               FROM gone WHERE event_id <> base_id
              GROUP BY entity_place, given, version, occurred_at, base_id) AS n
      WHERE e.ctid = n.entity_place)
SELECT count(*) FROM gone`

// What an event did before its own snapshot is no loss: it is removed with the snapshot.
const (
	changesBelow  = purgedBelow + ` AND ` + entities.IsChange
	mentionsBelow = purgedBelow + ` AND ` + entities.IsMention

	movesLost = `(n.events > 0 AND (e.lost_id IS NULL OR (coalesce(e.lost_version::numeric, '-Infinity'), e.lost_at, e.lost_id)
                                       < (n.version, n.occurred_at, n.base_id)))`

	purgedBelow = `
       SELECT l.ctid AS place, l.event_id, ` + entities.IsChange + ` AS is_change FROM event_entities AS l
        WHERE l.provider = b.provider AND l.kind = b.kind AND l.external_id = b.external_id
          AND (coalesce(l.version::numeric, '-Infinity'), l.occurred_at, l.event_id, l.position)
            < (b.version, b.occurred_at, b.event_id, b.position)
          AND l.event_id < $2::uuid AND NOT EXISTS (SELECT FROM events WHERE id = l.event_id OFFSET 0)`
)

const (
	purgeErrors = `
DELETE FROM error_log WHERE id = ANY (ARRAY(
       SELECT id FROM error_log WHERE at < $1 ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED))`

	purgeAudit = `
DELETE FROM audit_log WHERE id = ANY (ARRAY(SELECT id FROM audit_log WHERE at < $1 ORDER BY at, id LIMIT $2))`

	purgeKeys = `
DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM idempotency_keys WHERE expires_at < $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED))`

	purgeContents = `
DELETE FROM event_contents WHERE ctid = ANY (ARRAY (
       SELECT ctid FROM event_contents WHERE received_at < $1 ORDER BY received_at LIMIT $2 FOR UPDATE SKIP LOCKED))`

	// The table refuses removals unless the transaction allows them.
	allowAuditPurge = `SELECT set_config('holdfast.purge_audit_log', 'on', true)`
)

// keepContents is how long contents of events are kept: the 30 days in which events are compared, and a day for those still
// waiting.
const keepContents = 31 * 24 * time.Hour

// keepRefused is how long counts of refused requests are kept: longer than the list of any provider.
const keepRefused = 100 * 24 * time.Hour

// keepMapped is how long counts of mapped events are kept: the doctor reads one day of them.
const keepMapped = 7 * 24 * time.Hour

// keepObserved is how long the fields of a type are kept after its last event.
const keepObserved = 90 * 24 * time.Hour

// PurgeBatch removes some rows from before a time, oldest first, in one short transaction, and returns how many. At 0, nothing is
// left to remove. It is safe to run concurrently.
func (s *Store) PurgeBatch(ctx context.Context, kind retention.Kind, before time.Time) (removed int64, err error) {
	return s.purgeBatch(ctx, purge{kind: kind, before: before})
}

// PurgeBatchBy is PurgeBatch for an operator: the transaction that removes rows has an audit row that counts them.
func (s *Store) PurgeBatchBy(
	ctx context.Context, kind retention.Kind, before time.Time, by oversight.Actor,
) (removed int64, err error) {
	return s.purgeBatch(ctx, purge{kind: kind, before: before, by: &by})
}

// purge says what a batch removes, and for which operator; none means the schedule.
type purge struct {
	kind   retention.Kind
	before time.Time
	by     *oversight.Actor
}

func (p purge) queueAudit(b *pgx.Batch, removed int64) {
	if p.by == nil || removed == 0 {
		return
	}
	detail := audit.DetailOf(map[string]any{"kept": p.kind, "before": p.before.UTC(), "removed": removed})
	audit.Queue(b, p.by.Did(oversight.AuditPurge, "retention", detail))
}

func (s *Store) purgeBatch(ctx context.Context, p purge) (removed int64, err error) {
	switch p.kind {
	case retention.Events:
		removed, err = s.purgeNextEvents(ctx, p)
		if err == nil && removed == 0 {
			removed, err = s.purgeWithEvents(ctx, p)
		}
	case retention.DeadLetters:
		removed, err = s.removeOld(ctx, p, deadletters.CleanDeadLetters, p.before, "", purgeRows)
	case retention.Errors:
		removed, err = s.removeOld(ctx, p, purgeErrors, p.before, purgeRows)
		if err == nil && removed == 0 { // reported like errors, and kept as long
			removed, err = s.removeOld(ctx, p, duplicates.PurgeConflicts, p.before, purgeRows)
		}
	case retention.Audit:
		removed, err = s.removeOld(ctx, p, purgeAudit, p.before, purgeRows)
	case retention.Keys:
		removed, err = s.removeOld(ctx, p, purgeKeys, p.before, purgeRows)
		if err == nil && removed == 0 { // these expire on their own, too
			removed, err = s.removeOld(ctx, p, audit.PurgeSessions, p.before, purgeRows)
		}
		if err == nil && removed == 0 {
			removed, err = s.removeOld(ctx, p, rates.Purge, p.before, purgeRows)
		}
		if err == nil && removed == 0 {
			removed, err = s.removeOld(ctx, p, minutes.PurgeRefused, p.before.Add(-keepRefused), purgeRows)
		}
		if err == nil && removed == 0 {
			removed, err = s.removeOld(ctx, p, minutes.PurgeMapped, p.before.Add(-keepMapped), purgeRows)
		}
		if err == nil && removed == 0 {
			removed, err = s.removeOld(ctx, p, observed.Purge, p.before.Add(-keepObserved), purgeRows)
		}
		if err == nil && removed == 0 {
			removed, err = s.removeOld(ctx, p, minutes.PurgeEvents, p.before.Add(-oversight.KeptHistory), purgeRows)
		}
		if err == nil && removed == 0 {
			removed, err = s.removeOld(ctx, p, minutes.PurgeDeliveries, p.before.Add(-oversight.KeptHistory), purgeRows)
		}
		if err == nil && removed == 0 {
			removed, err = s.removeOld(ctx, p, purgeContents, p.before.Add(-keepContents), purgeRows)
		}
	case retention.Changes:
		removed, err = s.purgeChanges(ctx, p)
	}
	return removed, postgres.Failure("purge "+string(p.kind), err)
}

// purgeWithEvents removes data with the retention of events: ended deliveries, counts and IDs of duplicates, and
// fetched states without an event.
func (s *Store) purgeWithEvents(ctx context.Context, p purge) (removed int64, err error) {
	removed, err = s.purgeDeliveries(ctx, p)
	if err == nil && removed == 0 {
		removed, err = s.removeOld(ctx, p, duplicates.PurgeDuplicates, event.FirstIDAt(p.before), purgeRows)
	}
	if err == nil && removed == 0 {
		removed, err = s.removeOld(ctx, p, duplicates.PurgeRedeliveries, event.FirstIDAt(p.before), purgeRows)
	}
	if err == nil && removed == 0 {
		removed, err = s.removeOld(ctx, p, fetches.Purge, event.FirstIDAt(p.before), purgeRows)
	}
	return removed, err
}

func (s *Store) removeOld(ctx context.Context, p purge, sql string, args ...any) (removed int64, err error) {
	b := &pgx.Batch{}
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	b.Queue(allowAuditPurge)
	b.Queue(sql, args...).Exec(postgres.CountInto(&removed))
	tx, err := s.db.Begin(ctx, b)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback(ctx)
	last := &pgx.Batch{}
	p.queueAudit(last, removed)
	return removed, tx.Commit(ctx, last)
}

func (s *Store) purgeChanges(ctx context.Context, p purge) (removed int64, err error) {
	b := &pgx.Batch{}
	b.Queue(changes.Drop, p.before).QueryRow(func(row pgx.Row) error { return row.Scan(&removed) })
	tx, err := s.db.Begin(ctx, b)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback(ctx)
	last := &pgx.Batch{}
	p.queueAudit(last, removed)
	return removed, tx.Commit(ctx, last)
}

func (s *Store) purgeDeliveries(ctx context.Context, p purge) (removed int64, err error) {
	b := &pgx.Batch{}
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	outbox.QueuePurge(b, p.before, &removed)
	return removed, s.db.SendOnly(ctx, b)
}

func (s *Store) purgeNextEvents(ctx context.Context, p purge) (removed int64, err error) {
	err = s.fromLastPurge(func(from string) (int, error) {
		removed, err = s.purgeEvents(ctx, p, purgeEvents, event.FirstIDAt(p.before), purgeRows, from, p.before)
		return int(removed), err
	})
	return removed, err
}

// fromLastPurge continues where the last batch ended: removed rows stay in the index until it is vacuumed, and each batch would
// walk past all of them. If nothing is left it starts from the beginning, once.
func (s *Store) fromLastPurge(look func(from string) (found int, err error)) error {
	if last := s.purgedTo.Load(); last != nil {
		if found, err := look(*last); err != nil || found > 0 {
			return err
		}
		s.purgedTo.Store(nil)
	}
	_, err := look(zeroID)
	return err
}

// zeroID precedes all event IDs.
const zeroID = "00000000-0000-0000-0000-000000000000"

// purgeEvents removes the events selected by a statement, and then their links that no fold reads.
func (s *Store) purgeEvents(ctx context.Context, p purge, sql string, args ...any) (removed int64, err error) {
	var ids []string
	bound := event.FirstIDAt(p.before)
	b := &pgx.Batch{}
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	b.Queue(postgres.InOrder)
	b.Queue(sql, args...).Query(postgres.Collect(&ids, pgx.RowTo[string]))
	b.Queue(postgres.InAnyOrder)
	tx, err := s.db.Begin(ctx, b)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback(ctx)
	var links int64
	b = &pgx.Batch{}
	if len(ids) > 0 {
		b.Queue(purgeLinks, ids, bound, purgeLinkRows).QueryRow(func(row pgx.Row) error { return row.Scan(&links) })
		b.Queue(fetches.Remove, ids)
	}
	p.queueAudit(b, int64(len(ids)))
	if err := tx.Commit(ctx, b); err != nil {
		return 0, err
	}
	for links == purgeLinkRows && err == nil {
		b = &pgx.Batch{}
		b.Queue(`SELECT ` + postgres.SettingsOfPlans)
		b.Queue(purgeLinks, ids, bound, purgeLinkRows).QueryRow(func(row pgx.Row) error { return row.Scan(&links) })
		err = s.db.SendOnly(ctx, b)
	}
	if err == nil {
		err = s.entities.Collapse(ctx, ids, bound)
	}
	if len(ids) > 0 {
		last := slices.Max(ids)
		s.purgedTo.Store(&last)
	}
	return int64(len(ids)), err
}

// Store purges and expunges data. It is safe for concurrent use.
type Store struct {
	db        *postgres.DB
	decisions *decisions.Store
	entities  *entities.Store
	// purgedTo is the last event that a purge has removed; nil if the next one begins at the oldest.
	purgedTo atomic.Pointer[string]
}

// New makes a Store that stores decisions in d and folds entities with e.
func New(db *postgres.DB, d *decisions.Store, e *entities.Store) *Store {
	return &Store{db: db, decisions: d, entities: e}
}
