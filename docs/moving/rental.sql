-- The rental backend (RentProg): events, dead letters, bodies that are only in its error log, cars, clients and bookings. PostgreSQL.
--   psql -AtX "$OLD_DATABASE_URL" -f docs/moving/rental.sql > rental.ndjson
-- Umnico's events are in none of its tables.
-- If RentProg sends IDs of events in headers (x-webhook-id, x-event-id, x-delivery-id, x-timestamp or timestamp), they are part of the
-- key, and these tables don't have them. Then say since when it also sends to Holdfast, with -v shadow=2026-11-25T10:00:00Z, and the query
-- leaves later events out. If in doubt, take a later time: events in between are then there twice but aren't delivered, while too early a
-- time loses events. Failures without a row in the table of events have only the time of the failure, so they are exported for another
-- hour: before the replay, discard those whose event Holdfast received itself.
-- What each row becomes:
--   rentprog_webhook_events       a processed event, unless one of its dead letters is unfinished
--   dead letter worker_fail       an open dead letter, received when its event was; also every other status, and none
--   dead letter max_retries       an exhausted dead letter
--   dead letter replayed or processed   nothing if its event has a row, otherwise a processed event
--   rentprog_webhook_error_log    an exhausted dead letter, if neither table has the body within 15 minutes
--   cars, clients, bookings       entities as of updated_at; an hour before its unfinished event if there is one
-- Several rows of one event: a dead letter belongs to the event in event_id, to the last event with the same body in the 15 minutes
-- before it, or to a row that its replay created. An equal dead letter within 15 minutes of a replay is that replay's failure. The
-- unfinished row counts.
\if :{?shadow}
\else
  \set shadow infinity
\endif
WITH
dead AS (
  SELECT id, nullif(payload, 'null') AS payload, error, coalesce(status, '') AS status, event_id::text, event_name, retry_count,
         created_at, coalesce(last_retry_at, created_at) AS retried_at,
         coalesce(status, '') NOT IN ('replayed', 'processed') AS waits
    FROM rentprog_webhook_dead
),
-- The event of a dead letter: the one that it names, or the last one with its body in the 15 minutes before it. A replay may have made
-- the row of the event. Then it is the first one with that body after the dead letter, until 15 minutes after the last retry.
matches AS (
  SELECT d.id AS dead, e.id AS event, 1 AS rank, interval '0' AS distance
    FROM dead AS d JOIN rentprog_webhook_events AS e ON e.id::text = d.event_id AND (d.payload IS NULL OR e.payload = d.payload)
   UNION ALL
  SELECT d.id, e.id, CASE WHEN e.received_at <= d.created_at THEN 2 ELSE 3 END,
         greatest(d.created_at - e.received_at, e.received_at - d.created_at)
    FROM dead AS d JOIN rentprog_webhook_events AS e ON e.payload = d.payload
     AND e.received_at >= d.created_at - interval '15 minutes'
     AND e.received_at <= CASE WHEN d.waits THEN d.created_at ELSE d.retried_at + interval '15 minutes' END
), matched AS (
  SELECT DISTINCT ON (dead) dead, event FROM matches ORDER BY dead, rank, distance, event
),
-- A replay that failed made a second dead letter within 15 minutes: unless they are of different events, the two are of one.
linked AS (
  SELECT d.*, m.event AS own_event, coalesce(d.payload, e.payload) AS body,
         coalesce(NOT lag(d.waits) OVER same
                  AND d.created_at - lag(d.retried_at) OVER same BETWEEN interval '-15 minutes' AND interval '15 minutes'
                  AND coalesce(lag(m.event) OVER same = m.event, true), false) AS continues
    FROM dead AS d LEFT JOIN matched AS m ON m.dead = d.id LEFT JOIN rentprog_webhook_events AS e ON e.id = m.event
   WHERE coalesce(d.payload, e.payload) IS NOT NULL
  WINDOW same AS (PARTITION BY coalesce(d.payload, e.payload) ORDER BY d.created_at, d.id)
), numbered AS (
  SELECT *, count(*) FILTER (WHERE NOT continues) OVER (PARTITION BY body ORDER BY created_at, id) AS number FROM linked
), grouped AS (
  SELECT *, coalesce(own_event, max(own_event) OVER same) AS event, 'dead ' || min(id) OVER same AS alone
    FROM numbered WINDOW same AS (PARTITION BY body, number)
),
-- One dead letter an event: the row that still waits counts.
letters AS (
  SELECT DISTINCT ON (coalesce(event::text, alone))
         d.id, event, d.status, d.body AS payload, d.event_name, d.error, e.entity, e.entity_id, e.branch, e.actor_id,
         e.description, waits, least(e.received_at, min(d.created_at) OVER same) AS received_at,
         min(d.created_at) OVER same AS first_failed_at, max(greatest(d.created_at, d.retried_at)) OVER same AS last_failed_at,
         coalesce(max(d.retry_count) OVER same, 0) + 1 AS attempts
    FROM grouped AS d LEFT JOIN rentprog_webhook_events AS e ON e.id = d.event
  WINDOW same AS (PARTITION BY coalesce(event::text, alone))
   ORDER BY coalesce(event::text, alone), waits DESC, d.status = 'max_retries', d.created_at DESC
),
-- A body that only the error log has belongs to an event that this system has lost. Within 15 minutes, one body is of one event.
logged AS (
  SELECT id, created_at, payload, concat_ws(': ', concat_ws(' ', phase, kind), error) AS error,
         created_at - lag(created_at) OVER (PARTITION BY payload ORDER BY created_at, id) < interval '15 minutes' AS is_again
    FROM rentprog_webhook_error_log WHERE payload ? 'event'
), lost AS (
  SELECT * FROM logged AS l
   WHERE is_again IS NOT TRUE
     AND NOT EXISTS (SELECT FROM rentprog_webhook_events AS e WHERE e.payload = l.payload
                        AND e.received_at BETWEEN l.created_at - interval '15 minutes' AND l.created_at + interval '15 minutes')
     AND NOT EXISTS (SELECT FROM dead AS d WHERE d.payload = l.payload
                        AND l.created_at BETWEEN d.created_at - interval '15 minutes' AND d.retried_at + interval '15 minutes')
),
-- worker_fail still waits, max_retries was given up. replayed and processed have succeeded: their event brings them, or, if it has
-- no row, they are the event.
bodies AS (
  SELECT 'dead' AS source, id, payload, received_at, branch, actor_id, description, attempts,
         CASE WHEN waits THEN first_failed_at END AS first_failed_at, CASE WHEN waits THEN last_failed_at END AS last_failed_at,
         CASE WHEN waits THEN error END AS error,
         CASE WHEN status = 'max_retries' THEN 'permanently_failed' WHEN waits THEN 'failed' ELSE 'processed' END AS status,
         event IS NOT NULL AS has_row
    FROM letters WHERE waits OR event IS NULL
   UNION ALL
  SELECT 'lost', id, payload, created_at, NULL, NULL, NULL, 1, created_at, created_at, error, 'permanently_failed', false FROM lost
   UNION ALL
  SELECT 'event', id, payload, received_at, branch, actor_id, description, 1, NULL, NULL, NULL, 'processed', true
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
  SELECT coalesce(entity, split_part(coalesce(event_name, payload->>'event'), '_', 1)) AS kind,
         coalesce(entity_id, substring(payload->>'payload' FROM '(?:^|[{,\s:])"?id"?\s*(?:=>|:)\s*"?(\d+)')) AS id,
         min(received_at) - interval '1 hour' AS since
    FROM (SELECT entity, entity_id, event_name, payload, received_at FROM letters WHERE waits
           UNION ALL
          SELECT NULL, NULL, NULL, payload, created_at FROM lost) AS unfinished
   GROUP BY 1, 2
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
         ) AS line FROM keyed WHERE received_at < :'shadow'::timestamptz + CASE WHEN has_row THEN interval '0' ELSE interval '1 hour' END
   UNION ALL
  SELECT 2, e.updated_at, e.id, jsonb_build_object(
         'record', 'entity', 'provider', 'rentprog', 'kind', e.kind, 'id', e.id, 'state', e.data, 'as_of', least(e.updated_at, w.since))
    FROM entities AS e LEFT JOIN waiting AS w ON w.kind = e.kind AND w.id = e.id::text
   WHERE e.data IS NOT NULL
) AS lines ORDER BY part, at, id;
