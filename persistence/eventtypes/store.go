package eventtypes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/eventtype"
	"holdfast/event/oversight"
	"holdfast/persistence/audit"
	"holdfast/persistence/postgres"
)

const (
	readRevision = `SELECT revision::text FROM event_types_head`

	// changeRevision is the first statement of every change, and makes the next one wait for its end.
	changeRevision = `UPDATE event_types_head SET revision = gen_random_uuid() WHERE one`

	selectTypes = `SELECT name, declared::text FROM event_types`
	typesAfter  = selectTypes + ` WHERE name > $1 ORDER BY name LIMIT $2`
	selectType  = selectTypes + ` WHERE name = $1`

	applyType = `
INSERT INTO event_types AS t (name, declared) VALUES ($1, $2::text::json)
ON CONFLICT (name) DO UPDATE SET declared = excluded.declared, changed_at = clock_timestamp()
 WHERE t.declared::text <> excluded.declared::text`

	measureTypes = `SELECT count(*), coalesce(sum(octet_length(declared::text)), 0) FROM event_types`

	deleteType = `DELETE FROM event_types WHERE name = $1`
)

// Store stores event types. It is safe for concurrent use.
type Store struct{ db *postgres.DB }

// New makes a Store on a database.
func New(db *postgres.DB) *Store { return &Store{db: db} }

// Revision returns a text that differs after each change of a type.
func (s *Store) Revision(ctx context.Context) (revision string, err error) {
	err = s.db.QueryRow(ctx, readRevision).Scan(&revision)
	return revision, postgres.Failure("read revision of event types", err)
}

// EventTypes returns all types by name.
func (s *Store) EventTypes(ctx context.Context) ([]eventtype.EventType, error) {
	return s.EventTypesAfter(ctx, "", eventtype.MaxTypes)
}

// EventTypesAfter returns types by name, after the given name, up to limit.
func (s *Store) EventTypesAfter(ctx context.Context, name string, limit int) ([]eventtype.EventType, error) {
	all, err := pgx.CollectRows(s.db.Rows(ctx, typesAfter, postgres.Clean(name), limit), scanType)
	return all, postgres.Failure("list event types", err)
}

// EventType returns a type, or event.ErrNotFound.
func (s *Store) EventType(ctx context.Context, name string) (eventtype.EventType, error) {
	one, err := pgx.CollectExactlyOneRow(s.db.Rows(ctx, selectType, postgres.Clean(name)), scanType)
	return one, postgres.Failure("read event type "+postgres.Clip(postgres.Clean(name), 100), err)
}

func scanType(row pgx.CollectableRow) (t eventtype.EventType, err error) {
	var name, declared string
	if err := row.Scan(&name, &declared); err != nil {
		return t, err
	}
	err = json.Unmarshal([]byte(declared), &t)
	t.Name = name
	return t, err
}

// ApplyEventType creates a type or replaces the one of its name. If nothing changes, nothing is written. Ingresses notice a
// change by the revision. The error is an event.Error of class rejected and code "too_many_event_types" if there would be too
// many.
func (s *Store) ApplyEventType(ctx context.Context, t eventtype.EventType, by oversight.Actor) error {
	var declared bytes.Buffer
	encoder := json.NewEncoder(&declared)
	encoder.SetEscapeHTML(false) // a schema is compared as it was declared
	if err := encoder.Encode(t); err != nil {
		return event.Rejectf("invalid_event_type", "it can't be written as JSON")
	}
	err := s.change(ctx, by.Did(oversight.AuditEventTypeApply, object(t.Name), detailOf(t)), applyType, t.Name, declared.String())
	if errors.Is(err, errUnchanged) {
		return nil
	}
	return postgres.Failure("apply event type "+t.Name, err)
}

// DeleteEventType deletes a type. It returns event.ErrNotFound if there is none.
func (s *Store) DeleteEventType(ctx context.Context, name string, by oversight.Actor) error {
	name = postgres.Clean(name)
	err := s.change(ctx, by.Did(oversight.AuditEventTypeDelete, object(name), nil), deleteType, name)
	if errors.Is(err, errUnchanged) {
		return event.ErrNotFound
	}
	return postgres.Failure("delete event type "+postgres.Clip(name, 100), err)
}

func object(name string) string { return "event_type:" + name }

func detailOf(t eventtype.EventType) json.RawMessage {
	return audit.DetailOf(map[string]any{"check": t.Check, "versions": t.Numbers()})
}

var errUnchanged = errors.New("nothing changes")

// change runs one statement with its audit entry, and replaces the revision. It returns errUnchanged if the statement changes no
// row.
func (s *Store) change(ctx context.Context, did oversight.AuditEntry, sql string, args ...any) error {
	var changed, count, size int64
	b := &pgx.Batch{}
	b.Queue(changeRevision)
	b.Queue(sql, args...).Exec(postgres.CountInto(&changed))
	b.Queue(measureTypes).QueryRow(func(row pgx.Row) error { return row.Scan(&count, &size) })
	tx, err := s.db.Begin(ctx, b)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	switch {
	case changed == 0:
		return errUnchanged
	case count > eventtype.MaxTypes || size > eventtype.MaxDeclared:
		return event.Rejectf("too_many_event_types", "there would be %d types of %d bytes, of up to %d types and %d bytes",
			count, size, eventtype.MaxTypes, eventtype.MaxDeclared)
	}
	last := &pgx.Batch{}
	audit.Queue(last, did)
	return tx.Commit(ctx, last)
}
