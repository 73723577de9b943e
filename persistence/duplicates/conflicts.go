package duplicates

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

	// PurgeConflicts removes up to $2 conflicts last seen before $1.
	PurgeConflicts = `
DELETE FROM conflicts WHERE id = ANY (ARRAY(
       SELECT id FROM conflicts WHERE last_seen < $1 ORDER BY last_seen LIMIT $2 FOR UPDATE SKIP LOCKED))`
)

// RecordConflict stores a conflict, or increments the count of its kind. The same conflict is counted once.
func (s *Store) RecordConflict(ctx context.Context, c event.Conflict) error {
	b := &pgx.Batch{}
	QueueConflict(b, c)
	return postgres.Failure("record conflict with event "+postgres.Clean(c.Owner), s.db.SendOnly(ctx, b))
}

// QueueConflict adds the conflict to the transaction that drops its event.
func QueueConflict(b *pgx.Batch, c event.Conflict) {
	b.Queue(recordConflict, postgres.Clean(c.Provider), postgres.Clean(c.Source), postgres.Clean(c.Key), postgres.Clean(c.Type),
		c.Owner, postgres.Clean(c.OwnerFingerprint), postgres.Clean(c.Fingerprint), c.LastSeen, c.EventID)
}
