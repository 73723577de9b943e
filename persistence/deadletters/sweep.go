package deadletters

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence/postgres"
)

const (
	// A run that failed has recorded its dead letter, and a later failure may have replaced it. Any other run has not; if the event
	// failed again since, that dead letter is enough. An event that owns its key, but has no row and no open dead letter, was
	// purged, or is held and its dead letter follows. Only a run that ended on its own shows which: one that was ended from outside
	// may never have recorded it, and no event is purged while Temporal has its run.
	selectUnrecorded = `
SELECT c.position
  FROM unnest($1::uuid[], $2::text[], $3::boolean[], $4::timestamptz[], $5::text[], $6::text[], $7::boolean[])
       WITH ORDINALITY AS c (event_id, run_id, failed, closed_at, provider, key, from_outside, position)
  LEFT JOIN LATERAL (SELECT id, status FROM events WHERE id = c.event_id OFFSET 0) AS e ON true
 WHERE e.status IS DISTINCT FROM 'processed'
   AND (e.id IS NOT NULL OR c.from_outside
        OR NOT EXISTS (SELECT FROM idempotency_keys AS k
                        WHERE k.provider = c.provider AND k.key = c.key AND k.event_id = c.event_id OFFSET 0)
        OR EXISTS (SELECT FROM dead_letters
                    WHERE event_id = c.event_id AND subscription_id = 0 AND state IN ('open', 'replaying', 'exhausted')
                   OFFSET 0))
   AND NOT EXISTS (SELECT FROM decisions WHERE event_id = c.event_id OFFSET 0)
   AND NOT EXISTS (SELECT FROM dead_letters AS d
                    WHERE d.event_id = c.event_id AND d.subscription_id = 0
                      AND (c.failed OR d.run_id = c.run_id OR d.last_failed_at >= c.closed_at) OFFSET 0)
 ORDER BY c.position`

	selectStored = `
SELECT c.id::text FROM unnest($1::uuid[]) AS c (id) WHERE EXISTS (SELECT FROM events WHERE id = c.id OFFSET 0)`

	selectStale = deadLetterColumns + ` FROM dead_letters
 WHERE state = 'replaying' AND subscription_id = 0 AND replaying_since < clock_timestamp() - $1::interval AND id > $2
 ORDER BY id LIMIT $3`

	// A dead letter that was claimed for redelivery has its delivery in the queue, for as long as its destination needs. If the
	// delivery isn't there, the owner died before queueing it.
	releaseUnsent = `
UPDATE dead_letters SET state = 'open', replaying_since = NULL, replaying_run_id = NULL, replay_id = NULL
 WHERE id = ANY (ARRAY(
       SELECT id FROM dead_letters AS d
        WHERE state = 'replaying' AND subscription_id > 0 AND replaying_since < clock_timestamp() - $1::interval
          AND NOT EXISTS (SELECT FROM delivery_queue AS q
                           WHERE q.event_id = d.event_id AND q.subscription_id = d.subscription_id OFFSET 0)
        LIMIT $2 FOR UPDATE SKIP LOCKED))`

	releaseStale = `
UPDATE dead_letters SET state = 'open', replaying_since = NULL, replaying_run_id = NULL, replay_id = NULL
 WHERE id = $1 AND state = 'replaying' AND replaying_since < clock_timestamp() - $2::interval`
)

// Unrecorded returns the runs whose event is neither processed nor, for this run, a dead letter, and has no decision. Runs
// without a valid event ID are among them.
func (s *Store) Unrecorded(ctx context.Context, runs []operation.ClosedRun) ([]operation.ClosedRun, error) {
	ids, runIDs := make([]pgtype.UUID, len(runs)), make([]string, len(runs))
	failed, closed := make([]bool, len(runs)), make([]time.Time, len(runs))
	providers, keys, fromOutside := make([]string, len(runs)), make([]string, len(runs)), make([]bool, len(runs))
	for i, run := range runs {
		fromOutside[i] = run.Status != "failed" && run.Status != "completed"
		ids[i] = idOf(run.EventID)
		runIDs[i], failed[i], closed[i] = postgres.Clean(run.Run.RunID), run.Status == "failed", run.ClosedAt
		provider, key, _ := event.SplitWorkflowID(run.Run.WorkflowID)
		providers[i], keys[i] = postgres.Clean(provider), postgres.Clean(key)
	}
	var positions []int
	b := &pgx.Batch{}
	b.Queue(selectUnrecorded, ids, runIDs, failed, closed, providers, keys, fromOutside).
		Query(postgres.Collect(&positions, pgx.RowTo[int]))
	if err := s.db.SendOnly(ctx, b); err != nil {
		return nil, postgres.Failure("compare runs", err)
	}
	unrecorded := make([]operation.ClosedRun, len(positions))
	for i, position := range positions {
		unrecorded[i] = runs[position-1]
	}
	return unrecorded, nil
}

// idOf parses an ID from outside; null if it isn't an event ID.
func idOf(text string) (id pgtype.UUID) {
	if id.Scan(text) != nil {
		return pgtype.UUID{}
	}
	return id
}

// StoredEvents returns the IDs that have a row.
func (s *Store) StoredEvents(ctx context.Context, ids []string) (map[string]bool, error) {
	return s.among(ctx, selectStored, ids)
}

// among returns those of the IDs that a statement selects.
func (s *Store) among(ctx context.Context, selected string, ids []string) (map[string]bool, error) {
	found := map[string]bool{}
	b := &pgx.Batch{}
	var id string
	b.Queue(selected, postgres.Column(ids, idOf)).Query(postgres.ForEach([]any{&id}, func() { found[id] = true }))
	return found, postgres.Failure("compare events", s.db.SendOnly(ctx, b))
}

// StaleReplays returns the first n dead letters with an ID above after that have been replaying for more than 15 minutes,
// without their bodies. Those that should be delivered again and are not in the queue are reopened immediately.
func (s *Store) StaleReplays(ctx context.Context, after int64, n int) ([]event.DeadLetter, error) {
	b := &pgx.Batch{}
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	b.Queue(releaseUnsent, replayLease, n)
	if err := s.db.SendOnly(ctx, b); err != nil {
		return nil, postgres.Failure("release dead letters of deliveries", err)
	}
	rows := s.db.Rows(ctx, selectStale, replayLease, after, n)
	stale, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (event.DeadLetter, error) { return scanDeadLetter(row) })
	return stale, postgres.Failure("list stale replays", err)
}

// ReleaseStale reopens a dead letter whose replay has no run, unless it was claimed again meanwhile.
func (s *Store) ReleaseStale(ctx context.Context, id int64) error {
	_, err := s.db.Exec(ctx, releaseStale, id, replayLease)
	return postgres.Failure("release dead letter", err)
}
