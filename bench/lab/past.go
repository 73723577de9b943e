package lab

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Past is the content of a product's database so far: events at equal intervals, each with its key, its change of an entity
// and its delivery to the first subscription.
type Past struct {
	Events, Entities int
	// Recent are the last events. One in a hundred of them has an open dead letter, and one waits for the second subscription.
	Recent int
	Begins time.Time
	Every  time.Duration
	// KeysLast is how long keys are kept. If that is too short, the product purges keys during a measurement.
	KeysLast time.Duration
}

// At returns the time of event i.
func (p Past) At(i int) time.Time { return p.Begins.Add(time.Duration(i) * p.Every) }

// functions of a session: the time of event i, and its ID.
const functions = `
CREATE FUNCTION pg_temp.at(i bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS
$$ SELECT timestamptz 'epoch' + (%[4]d + i * %[5]d) * interval '1 microsecond' $$;
CREATE FUNCTION pg_temp.id(i bigint) RETURNS uuid LANGUAGE sql IMMUTABLE AS
$$ SELECT (lpad(to_hex((%[4]d + i * %[5]d) / 1000), 12, '0') || '7000' || '8000' || lpad(to_hex(i), 12, '0'))::uuid $$;`

// rows inserts the events from %[1]d to %[2]d as the product would have written them, of %[3]d entities. Keys are as random as
// Stripe's. One event in a hundred has a failed delivery with one more attempt, and a dead letter; those after event %[6]d are
// open. Keys expire after %[7]d seconds. Entities keep their revision, since the change feed gets no rows.
//
//nolint:dupword // columns may have the same value
const rows = `
INSERT INTO events (id, provider, source, key, key_from, type, status, outcome, raw_body, headers, receipt, payload, payload_note,
       occurred_at, occurred_at_missing, received_at, persisted_at, processed_at, workflow_id, run_id, request_id, correlation_id)
SELECT pg_temp.id(i), 'stripe', '', key, 'event', 'customer.updated', 'processed', 'processed', convert_to(body, 'UTF8'),
       '{"stripe-signature":"t=1,v1=0"}', json_build_object('id', pg_temp.id(i), 'provider', 'stripe', 'key', key), body::jsonb,
       '', at, false, at, at, at, 'stripe:' || key, gen_random_uuid()::text, gen_random_uuid()::text, ''
  FROM generate_series(%[1]d::bigint, %[2]d) AS i,
       LATERAL (SELECT 'evt_' || left(md5(i::text), 24) AS key, pg_temp.at(i) AS at) AS k,
       LATERAL (SELECT json_build_object('id', key, 'object', 'event', 'type', 'customer.updated', 'padding', repeat('x', 410),
                  'data', json_build_object('object', json_build_object('id', 'cus_old' || i %% %[3]d, 'object', 'customer',
                  'name', 'Ada Lovelace', 'balance', i)))::text AS body) AS b;
INSERT INTO idempotency_keys (provider, key, event_id, first_seen, expires_at, fingerprint)
SELECT provider, key, id, received_at, received_at + %[7]d * interval '1 s', 'sha256:' || encode(sha256(raw_body), 'hex')
  FROM events WHERE id BETWEEN pg_temp.id(%[1]d) AND pg_temp.id(%[2]d);
INSERT INTO event_entities (event_id, provider, kind, external_id, position, op, change, occurred_at)
SELECT id, provider, 'customer', payload #>> '{data,object,id}', 1, 'snapshot', payload #> '{data,object}', occurred_at
  FROM events WHERE id BETWEEN pg_temp.id(%[1]d) AND pg_temp.id(%[2]d);
INSERT INTO entities (provider, kind, external_id, state, occurred_at, last_event_id, purged_events)
SELECT provider, kind, external_id, change, occurred_at, event_id, 0 FROM event_entities
 WHERE event_id BETWEEN pg_temp.id(greatest(%[1]d, %[2]d - %[3]d + 1)) AND pg_temp.id(%[2]d)
    ON CONFLICT (provider, kind, external_id) DO UPDATE
   SET state = excluded.state, occurred_at = excluded.occurred_at, last_event_id = excluded.last_event_id;
INSERT INTO deliveries (event_id, subscription_id, destination_id, status, code, attempts, generation, ms, answer, queued_at,
       done_at)
SELECT pg_temp.id(i), 1, 1, CASE WHEN i %% 100 = 0 THEN 'failed' ELSE 'delivered' END, '200', 1, 0, 3, 'ok', pg_temp.at(i),
       pg_temp.at(i) + interval '5 ms'
  FROM generate_series(%[1]d::bigint, %[2]d) AS i;
INSERT INTO delivery_attempts (event_id, subscription_id, lease, at, generation, ok, code, error, ms)
SELECT pg_temp.id(i), 1, gen_random_uuid(), pg_temp.at(i), 0, false, '503', 'the endpoint answered 503', 3
  FROM generate_series(%[1]d::bigint, %[2]d) AS i WHERE i %% 100 = 0;
INSERT INTO dead_letters (event_id, provider, key, type, receipt, raw_body, state, step, error_class, error_code, error_message,
       attempts, first_failed_at, last_failed_at, workflow_id, run_id, resolved_at, resolved_run_id)
SELECT id, provider, key, type, receipt, raw_body, CASE WHEN i > %[6]d THEN 'open' ELSE 'resolved' END, 'persist',
       'failed', 'c' || i / 100 %% 50, 'made up', 4, occurred_at, occurred_at, workflow_id, run_id, occurred_at, run_id
  FROM generate_series(%[1]d::bigint, %[2]d) AS i JOIN events ON id = pg_temp.id(i) WHERE i %% 100 = 0`

// waiting is for the second subscription, whose destination is paused.
const waiting = `
INSERT INTO delivery_queue (event_id, subscription_id, destination_id, due_at, queued_at)
SELECT pg_temp.id(i), 2, 2, pg_temp.at(i), pg_temp.at(i)
  FROM generate_series(%[6]d::bigint + 1, %[2]d) AS i WHERE i %% 100 = 50`

// pastWeeks makes the weekly partitions that a product has made which ran all the time. A migration makes those from now on.
const pastWeeks = `
DO $make$
DECLARE
    parent text; monday timestamptz;
    oldest timestamptz := date_trunc('week', pg_temp.at(0), 'UTC');
BEGIN
    CREATE FUNCTION pg_temp.bound(at timestamptz) RETURNS uuid LANGUAGE sql AS
    $$ SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid $$;
    FOREACH parent IN ARRAY ARRAY['deliveries', 'delivery_attempts'] LOOP
        EXECUTE format('ALTER TABLE %I DETACH PARTITION %I', parent, parent || '_before');
        monday := oldest;
        WHILE monday < date_trunc('week', now(), 'UTC') LOOP
            EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L)',
                parent || to_char(monday AT TIME ZONE 'UTC', '_YYYYMMDD'), parent, pg_temp.bound(monday),
                pg_temp.bound(monday + interval '7 days'));
            monday := monday + interval '7 days';
        END LOOP;
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%L)', parent, parent || '_before',
            pg_temp.bound(oldest));
    END LOOP;
END $make$;`

// indexesOf lists the indexes of the filled tables that no constraint needs. To build them at the end takes a tenth of the time.
const indexesOf = `
SELECT indexname, indexdef FROM pg_indexes
 WHERE tablename IN ('events', 'event_entities', 'deliveries', 'delivery_attempts') AND schemaname = current_schema()
   AND NOT EXISTS (SELECT FROM pg_constraint WHERE conname = indexname)`

// Fill adds a history to the product's database, which has none yet, and leaves the database like one that has run for long:
// analyzed, and flushed to disk.
func (l *Lab) Fill(ctx context.Context, database string, p Past) error {
	conn, err := pgx.Connect(ctx, l.Postgres.URL(database))
	if err != nil {
		return err
	}
	err = fill(ctx, conn, p)
	return errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
}

func fill(ctx context.Context, conn *pgx.Conn, p Past) error {
	found, _ := conn.Query(ctx, indexesOf) // the rows return its error
	var drops, builds []string
	var name, definition string
	_, err := pgx.ForEachRow(found, []any{&name, &definition}, func() error {
		// ONLY would leave the partitions without it.
		drops = append(drops, `DROP INDEX `+name)
		builds = append(builds, strings.Replace(definition, " ON ONLY ", " ON ", 1))
		return nil
	})
	if err != nil {
		return err
	}
	statements := append([]string{p.between(functions, 1, p.Events), pastWeeks}, drops...)
	statements = append(statements, p.between(rows, 1, p.Events), p.between(waiting, 1, p.Events))
	statements = append(append(statements, `SET maintenance_work_mem = '256MB'`), builds...)
	statements = append(statements, `VACUUM (ANALYZE)`, `CHECKPOINT`)
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement, pgx.QueryExecModeSimpleProtocol); err != nil {
			return fmt.Errorf("fill: %w", err)
		}
	}
	return nil
}

// Append adds n events to the product's database. None of them waits for anything.
func (l *Lab) Append(ctx context.Context, database string, p *Past, n int) error {
	first, last := p.Events+1, p.Events+n
	p.Events, p.Recent = last, 0
	return l.Exec(ctx, database, p.between(functions, first, last)+p.between(rows, first, last))
}

func (p Past) between(statements string, first, last int) string {
	return fmt.Sprintf(statements, first, last, p.Entities, p.Begins.UnixMicro(), p.Every.Microseconds(), last-p.Recent,
		int(p.KeysLast.Seconds()))
}
