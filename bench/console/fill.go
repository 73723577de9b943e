package console

import (
	"context"
	"errors"
	"fmt"

	"holdfast/bench/lab"
	"holdfast/bench/suite"
	"holdfast/delivery"
	"holdfast/persistence"
)

const (
	// largeID is the event with a body of 64 KiB, and operationID an operation of each kind.
	largeID     = "00000000-0000-7000-a000-000000000001"
	operationID = "29990101-000000-last"
)

// others inserts what lab.Fill lacks: 10,000 events of a rare provider, of 50 types, that all change one entity; one in ten of
// them is dead. The event with a body of 64 KiB, which is dead too. Failing destinations, 100,000 entries of the audit log, and
// operations, of which a dry run has found 1,000 entities that differ.
//
//nolint:dupword // columns may have the same value
const others = `
INSERT INTO events (id, provider, source, key, key_from, type, status, outcome, raw_body, headers, receipt, payload, payload_note,
       occurred_at, occurred_at_missing, received_at, persisted_at, processed_at, workflow_id, run_id, request_id, correlation_id)
SELECT id, 'github', '', key, 'event', type, CASE WHEN dead THEN 'dead' ELSE 'processed' END,
       CASE WHEN NOT dead THEN 'processed' END, convert_to(body, 'UTF8'), '{"x-github-event":"push"}',
       json_build_object('id', id, 'provider', 'github', 'key', key), body::jsonb, '', at, false, at, at,
       CASE WHEN NOT dead THEN at END, 'github:' || key, gen_random_uuid()::text, gen_random_uuid()::text, ''
  FROM generate_series(1, 10000) AS i,
       LATERAL (SELECT i %% 10 = 0 AS dead, 'gh_' || md5(i::text) AS key, now() - i * interval '1 min' AS at,
                  CASE i %% 50 WHEN 1 THEN 'push' ELSE 'type.' || i %% 50 END AS type) AS k,
       LATERAL (SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7000' || '9000' ||
                  lpad(to_hex(i), 12, '0'))::uuid AS id,
                  json_build_object('repository', json_build_object('id', 'busy', 'full_name', 'ada/engine', 'size', i))::text
                  AS body) AS b;
INSERT INTO idempotency_keys (provider, key, event_id, first_seen)
SELECT provider, key, id, received_at FROM events WHERE provider = 'github';
INSERT INTO event_entities (event_id, provider, kind, external_id, position, op, change, occurred_at)
SELECT id, provider, 'repository', 'busy', 1, 'snapshot', payload -> 'repository', occurred_at FROM events
 WHERE provider = 'github' AND status = 'processed';
INSERT INTO entities (provider, kind, external_id, state, occurred_at, last_event_id, purged_events)
SELECT provider, kind, external_id, change, occurred_at, event_id, 0 FROM event_entities
 WHERE provider = 'github' ORDER BY event_id DESC LIMIT 1;
INSERT INTO events (id, provider, source, key, key_from, type, status, raw_body, headers, receipt, payload, payload_note,
       occurred_at, occurred_at_missing, received_at, workflow_id, run_id, request_id, correlation_id)
SELECT '%[1]s', 'stripe', '', 'evt_large', 'event', 'invoice.updated', 'dead', convert_to(body, 'UTF8'),
       '{"stripe-signature":"t=1,v1=0"}', '{"id":"%[1]s","provider":"stripe","key":"evt_large"}', body::jsonb, '', now(), false,
       now(), 'stripe:evt_large', gen_random_uuid()::text, gen_random_uuid()::text, ''
  FROM (SELECT json_build_object('id', 'evt_large', 'object', 'event', 'type', 'invoice.updated', 'data', json_build_object(
          'object', json_build_object('id', 'in_large', 'object', 'invoice', 'customer', 'cus_old7', 'lines', json_agg(
          json_build_object('id', 'il_' || md5(i::text), 'object', 'line_item', 'amount', i * 100, 'currency', 'eur',
          'description', 'Analytical engine, month ' || i, 'discountable', true, 'invoice', 'in_large', 'livemode', false,
          'proration', false, 'quantity', 1,
          'period', json_build_object('end', 1795000000 + i, 'start', 1790000000 + i))))))::text
          AS body FROM generate_series(1, 212) AS i) AS b;
INSERT INTO dead_letters (event_id, provider, key, type, receipt, raw_body, step, error_class, error_code, error_message,
       attempts, first_failed_at, last_failed_at, workflow_id, run_id)
SELECT id, provider, key, type, receipt, raw_body, 'parse', 'rejected', 'p' || right(key, 1), 'made up', 1, occurred_at,
       occurred_at, workflow_id, run_id
  FROM events WHERE status = 'dead';
UPDATE destination_states SET failing_since = now() - interval '1 hour', failure = '503', breaker = 'open',
       open_until = now() + interval '1 day'
 WHERE destination_id BETWEEN 10 AND 14;
INSERT INTO audit_log (at, actor, role, action, object, request_id, reason)
SELECT now() - i * interval '1 min', (ARRAY['ada', 'grace', 'linus'])[1 + i %% 3], 'operator',
       (ARRAY['dead_letter.replay', 'dead_letter.discard', 'destination.pause', 'delivery.resend'])[1 + i %% 4],
       'dead_letter:' || i, gen_random_uuid()::text, 'the endpoint was down'
  FROM generate_series(1, 100000) AS i;
INSERT INTO replays
       (id, filter, rate, state, bound, total, done, failed, started_by, started_at, drained_at, ended_at, settled_at)
SELECT CASE i WHEN 1 THEN '%[2]s' ELSE 'replay-' || i END, '{"provider":"stripe","code":"c7"}', 10, 'completed', 1, 100, 90, 10,
       'ada', at, at, at, at
  FROM generate_series(1, 1000) AS i, LATERAL (SELECT now() - i * interval '1 hour' AS at) AS t;
INSERT INTO rebuilds (id, provider, kind, dry_run, rate, state, read, changed, entities, started_by, started_at, ended_at)
SELECT CASE i WHEN 1 THEN '%[2]s' ELSE 'rebuild-' || i END, 'stripe', '', true, 100, 'completed', 1000000, 10000, 1000, 'ada',
       at, at
  FROM generate_series(1, 1000) AS i, LATERAL (SELECT now() - i * interval '1 hour' AS at) AS t;
INSERT INTO rebuild_entities (rebuild_id, provider, kind, external_id, events)
SELECT '%[2]s', e.provider, e.kind, e.external_id, ARRAY(SELECT event_id FROM event_entities AS l
          WHERE (l.provider, l.kind, l.external_id) = (e.provider, e.kind, e.external_id) LIMIT 10)
  FROM (SELECT * FROM entities WHERE kind = 'customer' LIMIT 1000) AS e;
INSERT INTO resends (id, subscription_id, everything, rate, state, read, queued, started_by, started_at, ended_at)
SELECT 'resend-' || i, 1, false, 100, 'completed', 10000, 100, 'ada', at, at
  FROM generate_series(1, 1000) AS i, LATERAL (SELECT now() - i * interval '1 hour' AS at) AS t;
INSERT INTO imports (id, name, rate, state, total, read, started_by, started_at, ended_at)
SELECT 'import-' || i, 'old.jsonl', 100, 'completed', 10000, 10000, 'ada', at, at
  FROM generate_series(1, 1000) AS i, LATERAL (SELECT now() - i * interval '1 hour' AS at) AS t;
INSERT INTO recoveries (id, provider, target, dry_run, undelivered, accept_duplicates, rate, state, since, until, listed, known,
       started_by, started_at, ended_at)
SELECT 'recovery-' || i, 'stripe', '', false, false, false, 10, 'completed', at - interval '1 day', at, 1000, 1000, 'schedule',
       at,
       at
  FROM generate_series(1, 1000) AS i, LATERAL (SELECT now() - i * interval '1 hour' AS at) AS t`

// fill creates a product's database with a history. Its first subscription gets every event, the second one is behind a pause,
// the others match nothing, and the last
// destination has none.
func fill(ctx context.Context, s *suite.Suite, past lab.Past, to *lab.Endpoint) error {
	if err := s.Lab.Migrate(ctx, database); err != nil {
		return err
	}
	if err := subscribe(ctx, s, to); err != nil {
		return err
	}
	return errors.Join(s.Lab.Fill(ctx, database, past),
		s.Lab.Exec(ctx, database, fmt.Sprintf(others, largeID, operationID)), s.Lab.Exec(ctx, database, `VACUUM (ANALYZE)`))
}

func subscribe(ctx context.Context, s *suite.Suite, to *lab.Endpoint) error {
	store, err := persistence.Open(ctx, persistence.Config{
		URL: s.Lab.Postgres.URL(database), ApplicationName: "bench", MaxConns: 1,
	})
	if err != nil {
		return err
	}
	defer store.Close()
	if err := suite.Endpoints(1, to)(ctx, store); err != nil {
		return err
	}
	none := delivery.Subscription{Events: delivery.Events{Types: []string{"none"}}}
	for i := 1; i < destinations-1; i++ {
		d := delivery.Destination{Name: fmt.Sprint("endpoint-", i), HTTP: &delivery.HTTP{URL: to.URL}}
		if i == 1 {
			d.Name = "paused"
		}
		if err := suite.Subscribe(ctx, store, d, none); err != nil {
			return err
		}
	}
	alone := delivery.Destination{Name: "alone", HTTP: &delivery.HTTP{URL: to.URL}}
	if _, err := store.Subscriptions.ApplyDestination(ctx, alone, []delivery.Secret{{Value: lab.Secret}}, suite.Bench); err != nil {
		return err
	}
	_, err = store.Subscriptions.SetDestinationState(ctx, "paused", delivery.DestinationPaused, suite.Bench)
	return err
}
