package fetches

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

const (
	// Join adds the fetched state of events e, whose Columns Scan reads.
	Join = `
  LEFT JOIN LATERAL (SELECT at, state FROM fetched_states WHERE event_id = e.id OFFSET 0) AS f ON true`
	// Columns are those that Read scans.
	Columns = `f.at, f.state`

	readState = `SELECT at, state FROM fetched_states AS f WHERE event_id = $1`

	// insertState stores nothing for an event that was expunged meanwhile.
	insertState = `
INSERT INTO fetched_states (event_id, at, state)
SELECT $1, $2, $3 WHERE NOT EXISTS (SELECT FROM decisions WHERE event_id = $1 AND decision = 'expunged')
ON CONFLICT (event_id) `

	// saveState adds states to the event's earlier ones, after a line end.
	saveState = insertState + `DO UPDATE SET state = EXCLUDED.state
 WHERE substring(EXCLUDED.state FOR octet_length(fetched_states.state) + 1) = fetched_states.state || '\x0a'::bytea`
	replaceState = insertState + `DO UPDATE SET at = excluded.at, state = excluded.state`

	// Remove removes the states of events.
	Remove = `DELETE FROM fetched_states WHERE event_id = ANY ($1::uuid[])`

	// Purge removes up to $2 states of events older than $1 that were never stored, because another one owns their key.
	Purge = `
DELETE FROM fetched_states WHERE event_id = ANY (ARRAY (
       SELECT event_id FROM fetched_states AS f
        WHERE event_id < $1::uuid AND NOT EXISTS (SELECT FROM events WHERE id = f.event_id OFFSET 0)
          AND NOT EXISTS (SELECT FROM dead_letters AS d WHERE d.event_id = f.event_id OFFSET 0)
        ORDER BY event_id LIMIT $2 FOR UPDATE SKIP LOCKED))`
)

// Store stores fetched states. It is safe for concurrent use.
type Store struct{ db *postgres.DB }

// New makes a Store on a database.
func New(db *postgres.DB) *Store { return &Store{db: db} }

// Scanned is a row of Columns.
type Scanned struct {
	at    *time.Time
	state []byte
}

// Targets returns what to scan the row into.
func (s *Scanned) Targets() []any { return []any{&s.at, &s.state} }

// Fetched returns the state; nil if the event has none.
func (s *Scanned) Fetched() *event.Fetched {
	if s.at == nil {
		return nil
	}
	return &event.Fetched{At: *s.at, Gone: s.state == nil, State: s.state, Bytes: len(s.state)}
}

// Fetched returns the state that was fetched for an event; nil if there is none.
func (s *Store) Fetched(ctx context.Context, eventID string) (*event.Fetched, error) {
	var row Scanned
	err := s.db.QueryRow(ctx, readState, postgres.Clean(eventID)).Scan(row.Targets()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return row.Fetched(), postgres.Failure("read fetched state", err)
}

// QueueSave stores the states of an event, whose lock the transaction must hold, unless there are others or the event was
// expunged.
func QueueSave(b *pgx.Batch, eventID string, f event.Fetched) {
	b.Queue(saveState, eventID, f.At, []byte(f.State))
}

// SaveFetched stores the states of an event, and returns what is stored: others, if they don't begin with what was stored before.
// Nothing is stored for an event that was expunged meanwhile.
func (s *Store) SaveFetched(ctx context.Context, eventID string, f event.Fetched) (event.Fetched, error) {
	f.At = f.At.UTC().Truncate(event.TimePrecision)
	b := &pgx.Batch{}
	b.Queue(postgres.EventLock, eventID)
	QueueSave(b, eventID, f)
	var row Scanned
	b.Queue(readState, eventID).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, row.Targets(), func() error { return nil })
		return err
	})
	if err := s.db.SendOnly(ctx, b); err != nil {
		return f, postgres.Failure("save fetched state", err)
	}
	if stored := row.Fetched(); stored != nil {
		return *stored, nil
	}
	return f, nil
}

// ReplaceFetched stores the state of an event in place of an earlier one. Nothing is stored for an event that was expunged
// meanwhile.
func (s *Store) ReplaceFetched(ctx context.Context, eventID string, f event.Fetched) error {
	b := &pgx.Batch{}
	b.Queue(postgres.EventLock, eventID)
	b.Queue(replaceState, eventID, f.At.UTC().Truncate(event.TimePrecision), []byte(f.State))
	return postgres.Failure("replace fetched state", s.db.SendOnly(ctx, b))
}
