package journal

import (
	"context"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

const (
	recordConflict = `
INSERT INTO conflicts AS c (
       provider, source, key, type, owner_id, owner_fingerprint, fingerprint, first_seen, last_seen, event_id)
VALUES ($1, $2, $3, $4, $5::uuid, $6, $7, $8::timestamptz, $8::timestamptz, $9::uuid)
    ON CONFLICT (owner_id, fingerprint) DO UPDATE
   SET times = c.times + 1, last_seen = greatest(c.last_seen, excluded.last_seen), event_id = excluded.event_id,
       source = excluded.source, type = excluded.type
 WHERE c.event_id <> excluded.event_id`

	conflictColumns = `
SELECT id, provider, source, key, type, event_id::text, owner_id::text, owner_fingerprint, fingerprint, first_seen, last_seen,
       times
  FROM conflicts`

	// No index serves it: it is asked only of an ID that nothing else knows.
	conflictOfEvent = conflictColumns + ` WHERE event_id = $1::uuid ORDER BY id DESC LIMIT 1`

	// PurgeConflicts removes up to $2 that were last seen before $1.
	PurgeConflicts = `
DELETE FROM conflicts WHERE id IN (
       SELECT id FROM conflicts WHERE last_seen < $1 ORDER BY last_seen LIMIT $2 FOR UPDATE SKIP LOCKED)`
)

// RecordConflict keeps a conflict, or counts one more of its kind. The same one is counted once.
func (s *Store) RecordConflict(ctx context.Context, c event.Conflict) error {
	b := &pgx.Batch{}
	QueueConflict(b, c)
	return postgres.Failure("record conflict with event "+postgres.Clean(c.Owner), s.db.SendOnly(ctx, b))
}

// QueueConflict adds a conflict to the transaction that drops its event.
func QueueConflict(b *pgx.Batch, c event.Conflict) {
	b.Queue(recordConflict, postgres.Clean(c.Provider), postgres.Clean(c.Source), postgres.Clean(c.Key), postgres.Clean(c.Type),
		c.Owner, postgres.Clean(c.OwnerFingerprint), postgres.Clean(c.Fingerprint), c.LastSeen, c.EventID)
}

// Conflicts is a page of conflicts, the last seen first.
func (s *Store) Conflicts(ctx context.Context, q event.ConflictQuery) ([]event.Conflict, error) {
	l := postgres.NewList(conflictColumns)
	l.Equal("provider", q.Provider)
	l.Equal("source", q.Source)
	if q.Key != "" {
		l.Where("key IN (%s, %s)", postgres.Clean(q.Key), event.CanonicalKey(q.Provider, q.Key))
	}
	l.Between("last_seen", q.Since, q.Until)
	if q.Before > 0 {
		l.Where("(last_seen, id) < (SELECT last_seen, id FROM conflicts WHERE id = %s)", q.Before)
	}
	sql, args := l.Page("last_seen DESC, id DESC", q.Limit)
	page, err := pgx.CollectRows(s.db.Rows(ctx, sql, args...), scanConflict)
	return page, postgres.Failure("list conflicts", err)
}

// ConflictOfEvent is the conflict that an event was dropped for, if it is the last one of its kind. Event.ErrNotFound: it is not.
func (s *Store) ConflictOfEvent(ctx context.Context, eventID string) (event.Conflict, error) {
	c, err := pgx.CollectExactlyOneRow(s.db.Rows(ctx, conflictOfEvent, eventID), scanConflict)
	return c, postgres.Failure("read conflict of event "+postgres.Clean(eventID), err)
}

func scanConflict(row pgx.CollectableRow) (c event.Conflict, err error) {
	err = row.Scan(&c.ID, &c.Provider, &c.Source, &c.Key, &c.Type, &c.EventID, &c.Owner, &c.OwnerFingerprint,
		&c.Fingerprint, &c.FirstSeen, &c.LastSeen, &c.Times)
	c.FirstSeen, c.LastSeen = c.FirstSeen.UTC(), c.LastSeen.UTC()
	return c, err
}
