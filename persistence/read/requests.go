package read

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

// requestSpan is how long after its ID a request can still make the IDs of its events: its whole budget is 3 s.
const requestSpan = 10 * time.Second

// Both IDs begin with their time, so the events of a request stand close behind it in the indexes of event IDs; the request's own
// has none.
const idsOfRequest = `
SELECT id::text FROM events WHERE id BETWEEN $1::uuid AND $2::uuid AND request_id = $3
 UNION
SELECT event_id::text FROM dead_letters WHERE event_id BETWEEN $1::uuid AND $2::uuid AND receipt->>'request_id' = $3
 UNION
SELECT event_id::text FROM inbox
 WHERE event_id BETWEEN $1::uuid AND $2::uuid
   AND position(convert_to('"request_id":"' || $3 || '"', 'UTF8') IN receipt) > 0
 ORDER BY 1`

// EventsOfRequest are the IDs of the events that a request brought, in their order: stored, dead or in the inbox. It knows
// requests by the ID that the ingress has made, a UUIDv7; one that the sender chose says no time, and leads nowhere here.
// Event.ErrNotFound: there are none.
func (s *Store) EventsOfRequest(ctx context.Context, requestID string) ([]string, error) {
	made, ok := event.TimeOfID(requestID)
	if !ok {
		return nil, postgres.Failure("read events of request "+postgres.Clean(requestID), pgx.ErrNoRows)
	}
	rows := s.db.Rows(ctx, idsOfRequest, event.FirstIDAt(made), event.FirstIDAt(made.Add(requestSpan)), postgres.Clean(requestID))
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err == nil && len(ids) == 0 {
		err = pgx.ErrNoRows
	}
	return ids, postgres.Failure("read events of request "+postgres.Clean(requestID), err)
}
