package lab

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Transactions returns how many a database has ended since its server started.
func (l *Lab) Transactions(ctx context.Context, database string) (n int64, err error) {
	// The server reports a connection's transactions when it is idle, and at most once a second.
	err = l.ask(ctx, &n,
		`SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = $1`, database)
	return n, err
}

// Size returns the size of a database in bytes, including indexes.
func (l *Lab) Size(ctx context.Context, database string) (n int64, err error) {
	err = l.ask(ctx, &n, `SELECT pg_database_size($1)`, database)
	return n, err
}

// TemporalSize returns that of Temporal's two databases.
func (l *Lab) TemporalSize(ctx context.Context) (n int64, err error) {
	err = l.ask(ctx, &n,
		`SELECT pg_database_size($1) + pg_database_size($2)`, temporalDatabase, visibilityDatabase)
	return n, err
}

// ServerVersion returns the version of PostgreSQL.
func (l *Lab) ServerVersion(ctx context.Context) (version string, err error) {
	err = l.ask(ctx, &version, `SHOW server_version`)
	return version, err
}

func (l *Lab) ask(ctx context.Context, into any, query string, args ...any) error {
	return l.Ask(ctx, "postgres", into, query, args...)
}

// Ask reads one value from a database.
func (l *Lab) Ask(ctx context.Context, database string, into any, query string, args ...any) error {
	conn, err := pgx.Connect(ctx, l.Postgres.URL(database))
	if err != nil {
		return err
	}
	return errors.Join(conn.QueryRow(ctx, query, args...).Scan(into), conn.Close(ctx))
}

// fill makes events that are long done, with their keys and links, and the entities that they have made: rows as the product
// writes them, by the million. $EVENTS and $ENTITIES are replaced.
//
//nolint:dupword // columns may have the same value
const fill = `
SET synchronous_commit = on;
INSERT INTO events (id, provider, source, key, key_from, type, status, outcome, raw_body, headers, receipt, payload, payload_note,
       occurred_at, occurred_at_missing, received_at, persisted_at, processed_at, workflow_id, run_id, request_id, correlation_id)
SELECT id, 'stripe', '', key, 'event', 'customer.updated', 'processed', 'processed', convert_to(body, 'UTF8'),
       '{"stripe-signature":"t=1,v1=0"}', json_build_object('id', id, 'provider', 'stripe', 'key', key), body::jsonb, '',
       at, false, at, at, at, 'stripe:' || key, gen_random_uuid()::text, gen_random_uuid()::text, ''
  FROM (SELECT i, lpad(to_hex((1700000000000 + i)::bigint), 12, '0') || '7000' || '8000' || lpad(to_hex(i), 12, '0') AS hex,
               'evt_old' || lpad(i::text, 12, '0') AS key, timestamptz '2024-01-01' + i * interval '1 s' AS at
          FROM generate_series(1, %[1]d) AS i) AS n,
       LATERAL (SELECT hex::uuid AS id) AS u,
       LATERAL (SELECT json_build_object('id', key, 'object', 'event', 'type', 'customer.updated', 'padding', repeat('x', 300),
                  'data', json_build_object('object', json_build_object('id', 'cus_old' || i %% %[2]d, 'object', 'customer',
                  'name', 'Ada Lovelace', 'balance', i)))::text AS body) AS b;
INSERT INTO idempotency_keys (provider, key, event_id, first_seen) SELECT provider, key, id, received_at FROM events;
INSERT INTO event_entities (event_id, provider, kind, external_id, position, op, change, occurred_at)
SELECT id, provider, 'customer', payload #>> '{data,object,id}', 1, 'snapshot', payload #> '{data,object}', occurred_at
  FROM events;
INSERT INTO entities (provider, kind, external_id, state, occurred_at, last_event_id)
SELECT DISTINCT ON (external_id) provider, kind, external_id, change, occurred_at, event_id
  FROM event_entities ORDER BY external_id, occurred_at DESC;
INSERT INTO dead_letters (event_id, provider, key, type, receipt, raw_body, state, step, error_class, error_code, error_message,
       attempts, first_failed_at, last_failed_at, workflow_id, run_id, resolved_at, resolved_run_id)
SELECT id, provider, key, type, receipt, raw_body, CASE WHEN n %% 100 = 0 THEN 'open' ELSE 'resolved' END, 'persist',
       'failed', 'c' || n %% 50, 'made up', 4, occurred_at, occurred_at, workflow_id, run_id, occurred_at, run_id
  FROM (SELECT *, row_number() OVER (ORDER BY id) AS n FROM events LIMIT %[1]d / 100) AS picked`

// Fill adds events and entities of long ago to the product's database, and leaves it like one that has had them for long:
// analysed, and flushed to disk.
func (l *Lab) Fill(ctx context.Context, database string, events, entities int) error {
	if err := l.Exec(ctx, database, fmt.Sprintf(fill, events, entities)); err != nil {
		return fmt.Errorf("fill %s: %w", database, err)
	}
	if err := l.Exec(ctx, database, `VACUUM (ANALYZE)`); err != nil {
		return err
	}
	return l.Exec(ctx, database, `CHECKPOINT`)
}
