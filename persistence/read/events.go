package read

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/entities"
	"holdfast/persistence/postgres"
	"holdfast/persistence/records"
)

const (
	selectEvent = records.Columns + `, raw_body, payload FROM events WHERE id = $1::uuid`

	idOfKey = `SELECT event_id::text FROM idempotency_keys WHERE provider = $1 AND key = $2`

	linkColumns = `
SELECT l.event_id::text, coalesce(e.type, ''), l.provider, l.kind, l.external_id, l.position, l.op, l.change, l.version,
       l.occurred_at, ` + entities.IsWithoutEffect + `
  FROM `
	eventOfLink = ` LEFT JOIN events AS e ON e.id = l.event_id`

	linksOfEvent = linkColumns + `event_entities AS l` + eventOfLink + ` WHERE l.event_id = $1::uuid ORDER BY l.position`
)

// Event returns one stored event with its body and what it did to entities.
func (s *Store) Event(ctx context.Context, id string) (event.Record, error) {
	record, err := s.event(ctx, id)
	return record, postgres.Failure("read event "+postgres.Clean(id), err)
}

// EventByKey returns the stored event that owns a provider's key. It returns event.ErrNotFound if there is none, or if the event
// was purged.
func (s *Store) EventByKey(ctx context.Context, provider, key string) (record event.Record, err error) {
	var id string
	err = s.db.QueryRow(ctx, idOfKey, postgres.Clean(provider), postgres.Clean(key)).Scan(&id)
	if err == nil {
		record, err = s.event(ctx, id)
	}
	return record, postgres.Failure("read event of key "+postgres.Clean(event.WorkflowID(provider, key)), err)
}

func (s *Store) event(ctx context.Context, id string) (record event.Record, err error) {
	b := &pgx.Batch{}
	b.Queue(selectEvent, id).QueryRow(func(row pgx.Row) (err error) {
		var body []byte
		var payload json.RawMessage
		record, err = records.Scan(row, &body, &payload)
		record.Body, record.Payload = body, payload
		return err
	})
	b.Queue(linksOfEvent, id).Query(postgres.Collect(&record.Links, scanLink))
	if err := s.db.SendRead(ctx, b); err != nil {
		return event.Record{}, err
	}
	return record, nil
}

func scanLink(row pgx.CollectableRow) (l event.Link, err error) {
	err = row.Scan(&l.EventID, &l.EventType, &l.Provider, &l.Kind, &l.ExternalID, &l.Position, &l.Op, &l.State, &l.Version,
		&l.OccurredAt, &l.WithoutEffect)
	return l, err
}

// Store queries events and entities. It is safe for concurrent use.
type Store struct{ db *postgres.DB }

// New makes a Store on a database.
func New(db *postgres.DB) *Store { return &Store{db: db} }
