-- The rental backend (RentProg): events, dead letters, bodies that are only in its error log, cars, clients and bookings. PostgreSQL.
--   psql -AtX "$OLD_DATABASE_URL" -f docs/moving/rental.sql > rental.ndjson
-- Umnico's events are in none of its tables. If RentProg sends IDs of events in headers, say since when it also sends to Holdfast, with
-- -v shadow=2026-11-25T10:00:00Z: these tables have no headers, so events after that time can't be found again, and are left out.
\if :{?shadow}
\else
  \set shadow infinity
\endif
WITH
-- The event that a dead letter is of: the one that it names, or the last one with its payload in the 15 minutes before it.
matches AS (
  SELECT d.id AS dead, e.id AS event, 1 AS rank, e.received_at
    FROM rentprog_webhook_dead AS d JOIN rentprog_webhook_events AS e ON e.id::text = d.event_id AND e.payload = d.payload
   UNION ALL
  SELECT d.id, e.id, 2, e.received_at
    FROM rentprog_webhook_dead AS d JOIN rentprog_webhook_events AS e
      ON e.payload = d.payload AND e.received_at BETWEEN d.created_at - interval '15 minutes' AND d.created_at
), matched AS (
  SELECT DISTINCT ON (dead) dead, event FROM matches ORDER BY dead, rank, received_at DESC
),
-- One dead letter an event. A replay that failed left a second row: the row that still waits counts.
letters AS (
  SELECT DISTINCT ON (coalesce(m.event::text, 'dead ' || d.id))
         d.id, m.event, d.status, d.payload, d.event_name, d.error, d.created_at, e.received_at, e.entity, e.entity_id,
         e.branch, e.actor_id, e.description, d.status IN ('worker_fail', 'max_retries') AS waits,
         min(d.created_at) OVER same AS first_failed_at, max(greatest(d.created_at, d.last_retry_at)) OVER same AS last_failed_at,
         max(d.retry_count) OVER same + 1 AS attempts
    FROM rentprog_webhook_dead AS d LEFT JOIN matched AS m ON m.dead = d.id LEFT JOIN rentprog_webhook_events AS e ON e.id = m.event
   WHERE d.payload IS NOT NULL
  WINDOW same AS (PARTITION BY coalesce(m.event::text, 'dead ' || d.id))
   ORDER BY coalesce(m.event::text, 'dead ' || d.id), array_position(ARRAY['worker_fail', 'max_retries'], d.status), d.created_at DESC
),
-- A body that only the error log has belongs to an event that this system has lost.
lost AS (
  SELECT DISTINCT ON (payload) id, created_at, payload, concat_ws(' ', phase, kind) || ': ' || error AS error
    FROM rentprog_webhook_error_log AS l
   WHERE payload ? 'event'
     AND NOT EXISTS (SELECT FROM rentprog_webhook_events AS e WHERE e.payload = l.payload)
     AND NOT EXISTS (SELECT FROM rentprog_webhook_dead AS d WHERE d.payload = l.payload)
   ORDER BY payload, created_at
),
-- worker_fail still waits, max_retries was given up. replayed and processed have succeeded: their event brings them, or, if it has
-- no row, they are the event.
bodies AS (
  SELECT 'dead' AS source, id, payload, coalesce(received_at, created_at) AS received_at, branch, actor_id, description, attempts,
         CASE WHEN waits THEN first_failed_at END AS first_failed_at, CASE WHEN waits THEN last_failed_at END AS last_failed_at,
         CASE WHEN waits THEN error END AS error,
         CASE status WHEN 'worker_fail' THEN 'failed' WHEN 'max_retries' THEN 'permanently_failed' ELSE 'processed' END AS status
    FROM letters WHERE waits OR event IS NULL
   UNION ALL
  SELECT 'lost', id, payload, created_at, NULL, NULL, NULL, 1, created_at, created_at, error, 'permanently_failed' FROM lost
   UNION ALL
  SELECT 'event', id, payload, received_at, branch, actor_id, description, 1, NULL, NULL, NULL, 'processed'
    FROM rentprog_webhook_events AS e
   WHERE payload IS NOT NULL AND NOT EXISTS (SELECT FROM letters AS l WHERE l.event = e.id AND l.waits)
),
-- The key is found in the body, and counts for 15 minutes. This system told equal bodies within that time apart by headers that it has
-- not kept: the second one gets a key of its own, so that both come.
keyed AS (
  SELECT *, CASE WHEN received_at - lag(received_at) OVER (PARTITION BY payload ORDER BY received_at, source, id)
                      < interval '15 minutes' THEN 'old:' || source || ':' || id END AS key
    FROM bodies
),
-- What still waits is in no car, client or booking yet. Theirs are brought as of the hour before it, so that it takes its place among
-- the events after that.
waiting AS (
  SELECT coalesce(entity, split_part(event_name, '_', 1)) AS kind,
         coalesce(entity_id, substring(payload->>'payload' FROM '(?:^|[{,\s:])"?id"?\s*(?:=>|:)\s*"?(\d+)')) AS id,
         min(coalesce(received_at, created_at)) - interval '1 hour' AS since
    FROM letters WHERE waits GROUP BY 1, 2
),
entities AS (
  SELECT 'car' AS kind, id, data, updated_at FROM rentprog_cars UNION ALL
  SELECT 'client', id, data, updated_at FROM rentprog_clients UNION ALL
  SELECT 'booking', id, data, updated_at FROM rentprog_bookings
)
SELECT line FROM (
  SELECT 1 AS part, received_at AS at, id, jsonb_build_object(
         'record', CASE status WHEN 'processed' THEN 'event' ELSE 'dead_letter' END, 'provider', 'rentprog', 'key', key,
         'body', payload, 'received_at', received_at, 'status', status, 'attempts', attempts, 'error', left(error, 500),
         'first_failed_at', first_failed_at, 'last_failed_at', last_failed_at,
         'headers', jsonb_strip_nulls(jsonb_build_object('x-branch', branch, 'x-actor-id', actor_id, 'x-description', description))
         ) AS line FROM keyed WHERE received_at < :'shadow'::timestamptz
   UNION ALL
  SELECT 2, e.updated_at, e.id, jsonb_build_object(
         'record', 'entity', 'provider', 'rentprog', 'kind', e.kind, 'id', e.id, 'state', e.data, 'as_of', least(e.updated_at, w.since))
    FROM entities AS e LEFT JOIN waiting AS w ON w.kind = e.kind AND w.id = e.id::text
   WHERE e.data IS NOT NULL
) AS lines ORDER BY part, at, id;
