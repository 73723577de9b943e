package persistence

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
)

// purgeRows is how many rows one batch removes: a transaction of some milliseconds. Whoever wants to wait for one of its
// rows waits no longer than that, and rows that somebody holds are left for the next batch.
const purgeRows = 500

// Only events that are processed go, or that were given up: what still waits for somebody is never too old.
const purgeEvents = `
DELETE FROM events WHERE id IN (
       SELECT id FROM events AS e
        WHERE e.id < $1::uuid
          AND (e.status = 'processed'
               OR (e.status = 'dead' AND NOT EXISTS (
                   SELECT FROM dead_letters
                    WHERE event_id = e.id AND state IN ('open', 'redriving', 'exhausted'))))
        ORDER BY e.id LIMIT $2
          FOR UPDATE SKIP LOCKED)
RETURNING id::text`

// purgeLinks removes the changes of purged events that no fold will ever read: those before the last snapshot or delete that
// was purged itself. That one stays, and so does all that follows it. So an entity keeps its state, a late event finds
// what it folds onto, and a correction of any event that is still there falls back to what was before it.
//
// An event is purged if its row is gone; $2 only saves the look for those that are too young to be.
const purgeLinks = `
WITH touched AS (
     SELECT DISTINCT provider, kind, external_id FROM event_entities WHERE event_id = ANY ($1::uuid[])
), base AS (
     SELECT t.provider, t.kind, t.external_id, r.version, r.occurred_at, r.event_id, r.position
       FROM touched AS t
      CROSS JOIN LATERAL (
            SELECT coalesce(version::numeric, '-Infinity') AS version, occurred_at, event_id, position
              FROM event_entities AS l
             WHERE l.provider = t.provider AND l.kind = t.kind AND l.external_id = t.external_id AND l.op <> 'patch'
               AND l.event_id < $2::uuid AND NOT EXISTS (SELECT FROM events WHERE id = l.event_id)
             ORDER BY coalesce(version::numeric, '-Infinity') DESC, occurred_at DESC, event_id DESC, position DESC
             LIMIT 1) AS r
)
DELETE FROM event_entities AS l USING base AS b
 WHERE l.provider = b.provider AND l.kind = b.kind AND l.external_id = b.external_id
   AND (coalesce(l.version::numeric, '-Infinity'), l.occurred_at, l.event_id, l.position)
     < (b.version, b.occurred_at, b.event_id, b.position)
   AND l.event_id < $2::uuid AND NOT EXISTS (SELECT FROM events WHERE id = l.event_id)`

const (
	purgeErrors = `
DELETE FROM error_log WHERE id IN (
       SELECT id FROM error_log WHERE at < $1 ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED)`

	purgeAudit = `
DELETE FROM audit_log WHERE id IN (SELECT id FROM audit_log WHERE at < $1 ORDER BY at, id LIMIT $2)`

	purgeKeys = `
DELETE FROM idempotency_keys WHERE (provider, key) IN (
       SELECT provider, key FROM idempotency_keys WHERE expires_at < $1
        ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)`

	// The table refuses removals unless a transaction says that it means it.
	allowAuditPurge = `SELECT set_config('holdfast.purge_audit_log', 'on', true)`
)

// PurgeBatch removes some of what was kept since before a time, the oldest first, in one short transaction, and says how
// many rows of it have gone. When it says 0, nothing is left to remove. It may run beside itself.
func (s *Store) PurgeBatch(ctx context.Context, kept event.Kept, before time.Time) (removed int64, err error) {
	doing := "purge " + string(kept)
	switch kept {
	case event.KeptEvents:
		removed, err = s.purgeEvents(ctx, before)
	case event.KeptDeadLetters:
		removed, err = s.purge(ctx, cleanDeadLetters, before, "", purgeRows)
	case event.KeptErrors:
		removed, err = s.purge(ctx, purgeErrors, before, purgeRows)
	case event.KeptAudit:
		removed, err = s.purge(ctx, purgeAudit, before, purgeRows)
	case event.KeptKeys:
		removed, err = s.purge(ctx, purgeKeys, before, purgeRows)
	}
	return removed, failure(doing, err)
}

func (s *Store) purge(ctx context.Context, sql string, args ...any) (removed int64, err error) {
	b := &pgx.Batch{}
	b.Queue(allowAuditPurge)
	b.Queue(sql, args...).Exec(countInto(&removed))
	return removed, s.sendOnly(ctx, b)
}

func (s *Store) purgeEvents(ctx context.Context, before time.Time) (removed int64, err error) {
	var ids []string
	bound := event.FirstIDAt(before)
	b := &pgx.Batch{}
	b.Queue(purgeEvents, bound, purgeRows).Query(func(rows pgx.Rows) (err error) {
		ids, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	tx, err := s.begin(ctx, b)
	if err != nil {
		return 0, err
	}
	defer tx.rollback(ctx)
	b = &pgx.Batch{}
	if len(ids) > 0 {
		b.Queue(purgeLinks, ids, bound)
	}
	return int64(len(ids)), tx.commit(ctx, b)
}
