package deadletters

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event/operation"
	"holdfast/persistence/postgres"
)

const (
	selectMark = `
SELECT coalesce(max(counter), 0), coalesce(max(at), 'epoch'), feed_identity() FROM sweep_marks`

	// A retry after a commit whose response was lost finds its own mark.
	leaveMark = `
INSERT INTO sweep_marks AS m (counter, at) SELECT $3::bigint, clock_timestamp() WHERE feed_identity() = $2
ON CONFLICT (one) DO UPDATE SET counter = excluded.counter, at = excluded.at WHERE m.counter IN ($1::bigint, $3::bigint)
RETURNING counter, at`

	// holdOpen leaves out events that are being processed again because their runs had processed them.
	holdOpen = `
UPDATE dead_letters SET state = 'exhausted', next_replay_at = NULL
 WHERE id = ANY (ARRAY(
       SELECT d.id` + ofPolicy + ofItsClasses + ` AND d.last_failed_at < $5
          AND d.error_code <> '` + operation.CodeLost + `'
        LIMIT $6 FOR UPDATE OF d SKIP LOCKED))`

	// selectGone includes none that wait in the inbox: they are processed from there. Nor does it include redeliveries, which have
	// no row of their own.
	selectGone = `
SELECT c.id::text FROM unnest($1::uuid[]) AS c (id)
 WHERE c.id IS NOT NULL AND NOT EXISTS (SELECT FROM events WHERE id = c.id OFFSET 0)
   AND NOT EXISTS (SELECT FROM decisions WHERE event_id = c.id OFFSET 0)
   AND NOT EXISTS (SELECT FROM redeliveries WHERE event_id = c.id OFFSET 0)
   AND NOT EXISTS (SELECT FROM dead_letters WHERE event_id = c.id)
   AND NOT EXISTS (SELECT FROM inbox WHERE event_id = c.id)`
)

// SweepMark returns the mark that the last sweep left, with the database's present identity. Its Counter and At are zero if
// there is none.
func (s *Store) SweepMark(ctx context.Context) (m operation.Mark, err error) {
	err = s.db.QueryRow(ctx, selectMark).Scan(&m.Counter, &m.At, &m.Identity)
	if m.Counter == 0 {
		m.At = time.Time{}
	}
	return m, postgres.Failure("read sweep mark", err)
}

// Server identifies the database's server and its timeline.
func (s *Store) Server(ctx context.Context) (identity string, err error) {
	err = s.db.QueryRow(ctx, `SELECT feed_identity()`).Scan(&identity)
	return identity, postgres.Failure("read the identity of the server", err)
}

// LeaveSweepMark replaces the mark seen. ok is false, and nothing changes, if the database or its mark isn't the seen one any
// more: it was set back meanwhile.
func (s *Store) LeaveSweepMark(
	ctx context.Context, seen operation.Mark, counter int64,
) (left operation.Mark, ok bool, err error) {
	left.Identity = seen.Identity
	err = s.db.QueryRow(ctx, leaveMark, seen.Counter, seen.Identity, counter).Scan(&left.Counter, &left.At)
	if errors.Is(err, pgx.ErrNoRows) {
		return operation.Mark{}, false, nil
	}
	return left, err == nil, postgres.Failure("leave sweep mark", err)
}

// HoldOpen leaves dead letters to operators that the automatic replay would run, and whose last failure is before a time.
func (s *Store) HoldOpen(ctx context.Context, p operation.AutomaticReplay, before time.Time) (held int64, err error) {
	held, err = s.execAll(ctx, holdOpen, append(policyArgs(p), before)...)
	return held, postgres.Failure("hold dead letters", err)
}

// Gone returns the IDs of events that the database doesn't have in any form.
func (s *Store) Gone(ctx context.Context, eventIDs []string) (map[string]bool, error) {
	return s.among(ctx, selectGone, eventIDs)
}
