package read

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

// requestSpan is how long after its ID a request can still create the IDs of its events: its whole budget is 3 s.
const requestSpan = 10 * time.Second

const (
	// Both IDs begin with their time, so the events of a request follow closely after its ID in the indexes of event IDs.
	idsOfRequest = `
SELECT id::text FROM events WHERE id BETWEEN $1::uuid AND $2::uuid AND request_id = $3
 UNION
SELECT event_id::text FROM dead_letters WHERE event_id BETWEEN $1::uuid AND $2::uuid AND ` + requestOfDead + ` = $3
 UNION` + waitingOfRequest + ` ORDER BY 1`

	// idsOfChosenRequest reads the indexes of IDs that senders have chosen: the conditions are those of the indexes. A sender may
	// give all its requests the same ID.
	idsOfChosenRequest = `
SELECT id FROM (
       SELECT * FROM (
              SELECT events.id::text FROM events
               WHERE request_id = $3 AND request_id <> '' AND request_id !~ '^[0-9a-f]{8}-[0-9a-f]{4}-7' LIMIT $4) AS stored
        UNION
       SELECT * FROM (
              SELECT event_id::text FROM dead_letters
               WHERE ` + requestOfDead + ` = $3 AND ` + requestOfDead + ` <> ''
                 AND ` + requestOfDead + ` !~ '^[0-9a-f]{8}-[0-9a-f]{4}-7' LIMIT $4) AS dead
        UNION` + waitingOfRequest + `) AS found
 ORDER BY id LIMIT $4`

	// requestOfDead takes the ID from the text of the receipt: JSON's operators fail for receipts with the character U+0000.
	requestOfDead = `substring(receipt::text FROM '"request_id":"([^"\\]*)"')`

	waitingOfRequest = `
SELECT event_id::text FROM inbox
 WHERE event_id BETWEEN $1::uuid AND $2::uuid
   AND position(convert_to('"request_id":"' || $3 || '"', 'UTF8') IN receipt) > 0`

	// maxOfRequest bounds the events of a request with a chosen ID.
	maxOfRequest = 100
)

// recentEvents is how many of the newest events are searched for an ID without a time.
const recentEvents = 20_000

// endOfID finds events by the end of their ID among the newest events and dead letters: events that can't be parsed have no row.
const endOfID = `
SELECT id FROM (
       SELECT * FROM (SELECT events.id::text FROM events ORDER BY events.id DESC LIMIT $2) AS stored
        UNION
       SELECT * FROM (SELECT event_id::text FROM dead_letters ORDER BY dead_letters.id DESC LIMIT $2) AS dead) AS newest
 WHERE right(id, length($1::text)) = $1::text ORDER BY id DESC LIMIT 20`

// EventsEndingWith searches the newest 20,000 events and dead letters for IDs that end with a text, and returns them newest
// first: lists show the end of IDs.
func (s *Store) EventsEndingWith(ctx context.Context, tail string) ([]string, error) {
	ids, err := pgx.CollectRows(s.db.Rows(ctx, endOfID, postgres.Clean(tail), recentEvents), pgx.RowTo[string])
	return ids, postgres.Failure("read events by the end of their ID", err)
}

// waitingFor is how long ago an event of a request with a chosen ID may have come that is still in the inbox.
const waitingFor = 24 * time.Hour

// EventsOfRequest returns the IDs of a request's events, in their order: stored, dead or in the inbox. If the ingress has made
// the request's ID, a UUIDv7, its time locates the events. An ID chosen by the sender is found by an index, up to 100 events, and
// in the inbox for a day. It returns event.ErrNotFound if there are none.
func (s *Store) EventsOfRequest(ctx context.Context, requestID string) ([]string, error) {
	ids, err := s.eventsOfRequest(ctx, postgres.Clean(requestID))
	if err == nil && len(ids) == 0 {
		err = pgx.ErrNoRows
	}
	return ids, postgres.Failure("read events of request "+postgres.Clean(requestID), err)
}

func (s *Store) eventsOfRequest(ctx context.Context, requestID string) ([]string, error) {
	if requestID == "" {
		return nil, nil
	}
	if made, ok := event.TimeOfID(requestID); ok {
		from, until := event.FirstIDAt(made), event.FirstIDAt(made.Add(requestSpan))
		return pgx.CollectRows(s.db.Rows(ctx, idsOfRequest, from, until, requestID), pgx.RowTo[string])
	}
	from, until := event.FirstIDAt(time.Now().Add(-waitingFor)), event.FirstIDAt(time.Now().Add(requestSpan))
	return pgx.CollectRows(s.db.Rows(ctx, idsOfChosenRequest, from, until, requestID, maxOfRequest), pgx.RowTo[string])
}

// recentTypes selects the types of the newest events; a few thousand are representative.
const recentTypes = `
SELECT DISTINCT provider, type FROM (SELECT events.provider, events.type FROM events ORDER BY events.id DESC LIMIT 2000) AS newest
 ORDER BY 1, 2`

// RecentTypes returns the providers and types of the newest 2,000 events, each once and in order.
func (s *Store) RecentTypes(ctx context.Context) (providers, types []string, err error) {
	var provider, eventType string
	_, err = pgx.ForEachRow(s.db.Rows(ctx, recentTypes), []any{&provider, &eventType}, func() error {
		providers, types = append(providers, provider), append(types, eventType)
		return nil
	})
	slices.Sort(types)
	return slices.Compact(providers), slices.Compact(types), postgres.Failure("read types of events", err)
}
