package deadletters

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

const (
	// A run that has failed has recorded its dead letter, and a later failure may stand in its place. Any other has not; should
	// the event have failed once more since, that dead letter is enough.
	selectUnrecorded = `
SELECT c.position
  FROM unnest($1::uuid[], $2::text[], $3::boolean[], $4::timestamptz[])
       WITH ORDINALITY AS c (event_id, run_id, failed, closed_at, position)
 WHERE NOT EXISTS (SELECT FROM events WHERE id = c.event_id AND status = 'processed')
   AND NOT EXISTS (SELECT FROM verdicts WHERE event_id = c.event_id)
   AND NOT EXISTS (SELECT FROM dead_letters AS d
                    WHERE d.event_id = c.event_id
                      AND (c.failed OR d.run_id = c.run_id OR d.last_failed_at >= c.closed_at))
 ORDER BY c.position`

	selectStored = `SELECT id::text FROM events WHERE id = ANY($1::uuid[])`

	selectStale = deadLetterColumns + ` FROM dead_letters
 WHERE state = 'redriving' AND redriving_since < clock_timestamp() - $1::interval ORDER BY id LIMIT $2`

	releaseStale = `
UPDATE dead_letters SET state = 'open', redriving_since = NULL, redriving_run_id = NULL, redrive_id = NULL
 WHERE id = $1 AND state = 'redriving' AND redriving_since < clock_timestamp() - $2::interval`
)

// Unrecorded are those of the runs whose event is neither processed nor, for this run, a dead letter, and on which there is no
// verdict. Runs without an event ID, or with one that is none of ours, are among them.
func (s *Store) Unrecorded(ctx context.Context, runs []event.ClosedRun) ([]event.ClosedRun, error) {
	ids, runIDs := make([]pgtype.UUID, len(runs)), make([]string, len(runs))
	failed, closed := make([]bool, len(runs)), make([]time.Time, len(runs))
	for i, run := range runs {
		ids[i] = idOf(run.EventID)
		runIDs[i], failed[i], closed[i] = postgres.Clean(run.Run.RunID), run.Status == "failed", run.ClosedAt
	}
	rows, err := s.db.Query(ctx, selectUnrecorded, ids, runIDs, failed, closed)
	if err != nil {
		return nil, postgres.Failure("compare runs", err)
	}
	positions, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		return nil, postgres.Failure("compare runs", err)
	}
	unrecorded := make([]event.ClosedRun, len(positions))
	for i, position := range positions {
		unrecorded[i] = runs[position-1]
	}
	return unrecorded, nil
}

// idOf is an ID that somebody else has written; null if it is none of an event.
func idOf(text string) (id pgtype.UUID) {
	if id.Scan(text) != nil {
		return pgtype.UUID{}
	}
	return id
}

// StoredEvents are those of the IDs that have a row.
func (s *Store) StoredEvents(ctx context.Context, ids []string) (map[string]bool, error) {
	wanted := make([]pgtype.UUID, len(ids))
	for i, id := range ids {
		wanted[i] = idOf(id)
	}
	rows, err := s.db.Query(ctx, selectStored, wanted)
	if err != nil {
		return nil, postgres.Failure("compare events", err)
	}
	stored := map[string]bool{}
	var id string
	_, err = pgx.ForEachRow(rows, []any{&id}, func() error { stored[id] = true; return nil })
	return stored, postgres.Failure("compare events", err)
}

// StaleRedrives are the first n dead letters that have been redriving for more than 15 minutes, without their bodies.
func (s *Store) StaleRedrives(ctx context.Context, n int) ([]event.DeadLetter, error) {
	rows, err := s.db.Query(ctx, selectStale, redriveLease, n)
	if err != nil {
		return nil, postgres.Failure("list stale redrives", err)
	}
	stale, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (event.DeadLetter, error) { return scanDeadLetter(row) })
	return stale, postgres.Failure("list stale redrives", err)
}

// ReleaseStale lets a dead letter wait again whose redrive has no run, unless it was taken anew meanwhile.
func (s *Store) ReleaseStale(ctx context.Context, id int64) error {
	_, err := s.db.Exec(ctx, releaseStale, id, redriveLease)
	return postgres.Failure("release dead letter", err)
}
