package read

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

const (
	conflictColumns = `
SELECT id, provider, source, key, type, event_id::text, owner_id::text, owner_fingerprint, fingerprint, first_seen, last_seen,
       times
  FROM conflicts`

	// No index serves this query: it runs only for an ID that is found nowhere else.
	conflictOfEvent = conflictColumns + ` WHERE event_id = $1::uuid ORDER BY id DESC LIMIT 1`
)

// Conflicts returns a page of conflicts, last seen first.
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

// ConflictOfEvent returns the conflict for which an event was dropped. It returns event.ErrNotFound if there is none, or if a
// later event was dropped for the same conflict.
func (s *Store) ConflictOfEvent(ctx context.Context, eventID string) (event.Conflict, error) {
	c, err := pgx.CollectExactlyOneRow(s.db.Rows(ctx, conflictOfEvent, eventID), scanConflict)
	return c, postgres.Failure("read conflict of event "+postgres.Clean(eventID), err)
}

func scanConflict(row pgx.CollectableRow) (c event.Conflict, err error) {
	err = row.Scan(&c.ID, &c.Provider, &c.Source, &c.Key, &c.Type, &c.EventID, &c.Owner, &c.OwnerFingerprint,
		&c.Fingerprint, &c.FirstSeen, &c.LastSeen, &c.Times)
	return c, err
}

const selectOwner = `SELECT owner_id::text FROM redeliveries WHERE event_id = $1::uuid`

// OwnerOfRedelivery returns the ID of the event that a redelivery repeated, by the ID that the redelivery was given, or
// event.ErrNotFound.
func (s *Store) OwnerOfRedelivery(ctx context.Context, id string) (owner string, err error) {
	err = s.db.QueryRow(ctx, selectOwner, id).Scan(&owner)
	return owner, postgres.Failure("read the owner of redelivery "+postgres.Clean(id), err)
}

const selectDuplicates = `SELECT times, first_seen, last_seen, rewritten FROM event_duplicates WHERE event_id = $1::uuid`

// Duplicates returns how many duplicates of an event arrived; zero if there were none.
func (s *Store) Duplicates(ctx context.Context, eventID string) (d event.Duplicates, err error) {
	err = s.db.QueryRow(ctx, selectDuplicates, eventID).Scan(&d.Times, &d.FirstSeen, &d.LastSeen, &d.Rewritten)
	if errors.Is(err, pgx.ErrNoRows) {
		return event.Duplicates{}, nil
	}
	return d, postgres.Failure("read duplicates of event "+postgres.Clean(eventID), err)
}
