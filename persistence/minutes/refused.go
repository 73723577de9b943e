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
	addRefused = `
INSERT INTO refused_minutes AS m (provider, minute, requests, unauthenticated)
SELECT provider, minute, requests, unauthenticated
  FROM unnest($1::text[], $2::timestamptz[], $3::bigint[], $4::bigint[]) AS n (provider, minute, requests, unauthenticated)
ON CONFLICT (provider, minute) DO UPDATE
   SET requests = m.requests + excluded.requests, unauthenticated = m.unauthenticated + excluded.unauthenticated`

	// PurgeRefused removes up to $2 counts of minutes before $1.
	PurgeRefused = `
DELETE FROM refused_minutes
 WHERE ctid = ANY (ARRAY(SELECT ctid FROM refused_minutes WHERE minute < $1 AND provider <> '' LIMIT $2 FOR UPDATE SKIP LOCKED))`

	// countSilent reads one day of minutes, and looks for one event of each of their providers.
	countSilent = `
SELECT provider, unauthenticated
  FROM (SELECT provider, sum(unauthenticated)::bigint AS unauthenticated FROM refused_minutes
         WHERE minute > statement_timestamp() - interval '1 day' AND provider <> ''
         GROUP BY provider OFFSET 0) AS refused
 WHERE unauthenticated > 0
   AND NOT EXISTS (SELECT FROM events AS e WHERE e.provider = refused.provider AND e.id >= $1::uuid OFFSET 0)
 ORDER BY provider`
)

// RefusedCounter counts refused requests in the background.
type RefusedCounter struct{ *counter }

// NewRefusedCounter starts a counter; Stop writes what is left and ends it.
func (s *Store) NewRefusedCounter() *RefusedCounter {
	return &RefusedCounter{s.start(table{addRefused, 2, time.Minute})}
}

// Count counts a request to a provider at a time, and whether it failed authentication.
func (c *RefusedCounter) Count(provider string, at time.Time, unauthenticated bool) {
	n := counts{1}
	if unauthenticated {
		n[1] = 1
	}
	c.add(provider, at, n)
}

// Unauthenticated counts the requests of the last day that failed authentication, of the providers from which no event has
// arrived since.
func (s *Store) Unauthenticated(ctx context.Context) ([]oversight.RefusedRequests, error) {
	yesterday := event.FirstIDAt(time.Now().Add(-24 * time.Hour))
	found, err := pgx.CollectRows(s.db.Rows(ctx, countSilent, yesterday), pgx.RowToStructByPos[oversight.RefusedRequests])
	return found, postgres.Failure("count unauthenticated requests", err)
}
