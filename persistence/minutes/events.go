package minutes

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/persistence/postgres"
)

const (
	addEvents = `
INSERT INTO event_minutes AS m (provider, starts_at, processed, ignored, dead)
SELECT provider, starts_at, processed, ignored, dead
  FROM unnest($1::text[], $2::timestamptz[], $3::bigint[], $4::bigint[], $5::bigint[])
         AS n (provider, starts_at, processed, ignored, dead)
ON CONFLICT (provider, starts_at) DO UPDATE
   SET processed = m.processed + excluded.processed, ignored = m.ignored + excluded.ignored, dead = m.dead + excluded.dead`

	// PurgeEvents removes up to $2 counts of events from before $1.
	PurgeEvents = `
DELETE FROM event_minutes
 WHERE ctid = ANY (ARRAY(SELECT ctid FROM event_minutes WHERE starts_at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED))`

	// Each of the two reads a part of an index: of all providers, or of one.
	eventsOfAll = selectEvents + ` GROUP BY 1 ORDER BY 1`
	eventsOfOne = selectEvents + ` AND provider = $4 GROUP BY 1 ORDER BY 1`

	selectEvents = `
SELECT date_bin($3::interval, starts_at, 'epoch'), sum(processed)::bigint, sum(ignored)::bigint, sum(dead)::bigint
  FROM event_minutes WHERE starts_at >= $1 AND starts_at < $2`
)

// bucketWidth is the length of a bucket of events or deliveries.
const bucketWidth = oversight.MinStep

// EventCounter counts events by result, in the background.
type EventCounter struct{ *counter }

// NewEventCounter starts a counter; Stop writes what is left and ends it.
func (s *Store) NewEventCounter() *EventCounter {
	return &EventCounter{s.start(table{addEvents, 3, bucketWidth})}
}

// Count counts an event that was processed or ignored, at the time when it was accepted. Other outcomes leave no event.
func (c *EventCounter) Count(provider string, acceptedAt time.Time, outcome event.Outcome) {
	if outcome == event.OutcomeProcessed {
		c.add(provider, acceptedAt, counts{1, 0, 0})
	}
	if outcome == event.OutcomeIgnored {
		c.add(provider, acceptedAt, counts{0, 1, 0})
	}
}

// CountDead counts an event that became a dead letter.
func (c *EventCounter) CountDead(provider string, acceptedAt time.Time) {
	c.add(provider, acceptedAt, counts{0, 0, 1})
}

// EventHistory counts the events of a provider by result; "" means all providers.
func (s *Store) EventHistory(ctx context.Context, provider string, p oversight.Span) ([]oversight.EventBucket, error) {
	statement, args := eventsOfAll, []any{p.Since, p.Until, time.Duration(p.Step)}
	if provider != "" {
		statement, args = eventsOfOne, append(args, postgres.Clean(provider))
	}
	found, err := pgx.CollectRows(s.db.Rows(ctx, statement, args...), pgx.RowToStructByPos[oversight.EventBucket])
	return found, postgres.Failure("count events by time", err)
}
