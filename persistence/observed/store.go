package observed

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/shape"
	"holdfast/persistence/postgres"
	"holdfast/persistence/records"
)

// maxTypes is how many types of all providers are observed, in alphabetical order, and maxOfProvider how many are observed, and
// kept, of one.
const (
	maxTypes      = 5000
	maxOfProvider = 500
)

// MaxBody is the size of the largest body in bytes that is read, MaxSample that of all bodies of one sample.
const (
	MaxBody   = 256 << 10
	MaxSample = 4 << 20
)

const (
	// typesOf finds the types of stored events, of $1 or all providers, one after the other in the index: it reads no event. After
	// $4 types of a provider it goes to the next provider, so that one with too many doesn't hide others.
	typesOf = `
WITH RECURSIVE found AS (
     (SELECT provider, type, 1 AS n, 1 AS nth FROM events WHERE (provider, type) >= ($1, '') ORDER BY provider, type LIMIT 1)
     UNION ALL
     SELECT next.provider, next.type, found.n + 1, CASE WHEN next.provider = found.provider THEN found.nth + 1 ELSE 1 END
       FROM found CROSS JOIN LATERAL (
            (SELECT provider, type FROM events WHERE found.nth < $4 AND (provider, type) > (found.provider, found.type)
              ORDER BY provider, type LIMIT 1)
            UNION ALL
            (SELECT provider, type FROM events WHERE found.nth >= $4 AND provider > found.provider
              ORDER BY provider, type LIMIT 1)) AS next
      WHERE found.n < $2 AND ($1 = '' OR found.provider = $1))
SELECT found.provider, found.type, coalesce(o.last_event::text, ''), coalesce(o.observed_at, 'epoch'), o.shape
  FROM found LEFT JOIN LATERAL (
       SELECT * FROM observed_fields AS o WHERE o.provider = found.provider AND o.type = found.type OFFSET 0) AS o ON true`

	listTypes = typesOf + ` WHERE found.provider = $1 AND ($5 = '' OR found.type = $5) ORDER BY found.type LIMIT $3`

	// dueTypes leaves out types that save wouldn't store.
	dueTypes = typesOf + `
 WHERE CASE WHEN o.last_event IS NULL
       THEN found.provider <> ALL (ARRAY(SELECT provider FROM observed_fields GROUP BY provider HAVING count(*) >= $4))
       ELSE EXISTS (
       SELECT FROM events AS e WHERE e.provider = found.provider AND e.type = found.type AND e.id > o.last_event OFFSET 0) END
 ORDER BY o.observed_at NULLS FIRST, found.provider, found.type LIMIT $3`

	// sample reads the newest events of a type after $3. It doesn't read a body to learn its size.
	sample = records.Columns + `, CASE WHEN size <= $5 THEN raw_body END FROM (
       SELECT *, sum(least(size, $5)) OVER (ORDER BY id DESC) AS together FROM (
              SELECT *, octet_length(raw_body) AS size FROM events
               WHERE provider = $1 AND type = $2 AND id > $3::uuid
               ORDER BY id DESC LIMIT $4) AS newest) AS sized
 WHERE together <= $6 OR together = least(size, $5) ORDER BY id`

	save = `
INSERT INTO observed_fields AS o (provider, type, last_event, observed_at, shape, breaks_until)
SELECT $1, $2, $3::uuid, $4, $5::json, $6
 WHERE EXISTS (SELECT FROM observed_fields WHERE provider = $1 AND type = $2)
    OR (SELECT count(*) FROM observed_fields WHERE provider = $1) < $7
ON CONFLICT (provider, type) DO UPDATE
   SET last_event = excluded.last_event, observed_at = excluded.observed_at, shape = excluded.shape,
       breaks_until = excluded.breaks_until
 WHERE o.last_event < excluded.last_event`

	breaking = `
SELECT provider, type, last_event::text, observed_at, shape FROM observed_fields
 WHERE breaks_until > statement_timestamp() ORDER BY breaks_until DESC LIMIT $1`

	// Forget removes what was observed of the type of an event.
	Forget = `
DELETE FROM observed_fields AS o USING events AS e WHERE e.id = $1::uuid AND o.provider = e.provider AND o.type = e.type`

	// Purge removes up to $2 types that were observed last before $1.
	Purge = `
DELETE FROM observed_fields WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM observed_fields WHERE observed_at < $1 ORDER BY observed_at LIMIT $2 FOR UPDATE SKIP LOCKED))`
)

// Store keeps what was observed. It is safe for concurrent use.
type Store struct{ db *postgres.DB }

// New makes a Store on a database.
func New(db *postgres.DB) *Store { return &Store{db: db} }

// Types lists the types of a provider's stored events, or one of them, with what was observed of them, at most limit.
func (s *Store) Types(ctx context.Context, provider, eventType string, limit int) ([]shape.Observed, error) {
	rows := s.db.Rows(ctx, listTypes, postgres.Clean(provider), maxTypes, limit, maxTypes, postgres.Clean(eventType))
	found, err := pgx.CollectRows(rows, scan)
	return found, postgres.Failure("list types of events", err)
}

// DueTypes returns types with events that weren't observed, at most limit, those that have waited for longest first.
func (s *Store) DueTypes(ctx context.Context, limit int) ([]shape.Observed, error) {
	found, err := pgx.CollectRows(s.db.Rows(ctx, dueTypes, "", maxTypes, limit, maxOfProvider), scan)
	return found, postgres.Failure("find types to observe", err)
}

// Sample returns the newest events of a type after an event, oldest first, at most limit and MaxSample bytes. The body of one
// with more than MaxBody is nil.
func (s *Store) Sample(ctx context.Context, provider, eventType, after string, limit int) ([]event.Record, error) {
	if after == "" {
		after = event.FirstIDAt(time.Time{})
	}
	rows := s.db.Rows(ctx, sample, postgres.Clean(provider), postgres.Clean(eventType), after, limit, MaxBody, MaxSample)
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r event.Record, err error) {
		var body []byte
		r, err = records.Scan(row, &body)
		r.Body = body
		return r, err
	})
	return found, postgres.Failure("read sample of "+postgres.Clean(provider), err)
}

// Save stores what was observed of a type, unless newer events were observed meanwhile, or the provider has too many types.
func (s *Store) Save(ctx context.Context, o shape.Observed) error {
	text, err := json.Marshal(o.Shape)
	if err != nil {
		return fmt.Errorf("encode shape of %s: %w", o.Provider, err)
	}
	var until *time.Time
	for _, c := range o.Shape.Broken() {
		if end := c.Since.Add(shape.OpenFor); until == nil || end.After(*until) {
			until = &end
		}
	}
	_, err = s.db.Exec(ctx, save, postgres.Clean(o.Provider), postgres.Clean(o.Type), o.LastEvent, o.At, string(text), until,
		maxOfProvider)
	return postgres.Failure("save observed fields of "+o.Provider, err)
}

// Breaking returns the types with open changes because of which rules of a definition may find nothing, at most limit, the latest
// first. Of their changes they have only those.
func (s *Store) Breaking(ctx context.Context, limit int) ([]shape.Observed, error) {
	found, err := pgx.CollectRows(s.db.Rows(ctx, breaking, limit), scan)
	for i := range found {
		found[i].Shape.Changes = found[i].Shape.Open(time.Now())
	}
	return found, postgres.Failure("find changes of fields", err)
}

func scan(row pgx.CollectableRow) (o shape.Observed, err error) {
	var text []byte
	if err := row.Scan(&o.Provider, &o.Type, &o.LastEvent, &o.At, &text); err != nil || text == nil {
		return o, err
	}
	if err := json.Unmarshal(text, &o.Shape); err != nil {
		return o, fmt.Errorf("decode shape of %s: %w", o.Provider, err)
	}
	return o, nil
}
