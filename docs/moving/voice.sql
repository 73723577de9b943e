-- The voice and booking platform (Retell, Cal.com and Stripe) on PostgreSQL: one line for each event. On MySQL use voice.mysql.sql.
--   psql -AtX -v ON_ERROR_STOP=1 "$OLD_DATABASE_URL" -f docs/moving/voice.sql > voice.ndjson
-- It expects the tables below. If yours have other names, change what follows FROM and JOIN.
--   webhook_events        id, provider, payload json, idempotency_key, correlation_id, status, created_at, processed_at
--   dead_letter_webhooks  id, provider, payload json, idempotency_key, correlation_id, error, last_error, failed_at, retry_count,
--                         last_retry_at, permanently_failed, created_at
-- Assumptions:
--   - Times have no zone, and are UTC: the default of Laravel's `timezone`. If config/app.php has another zone, write it for 'UTC'.
--   - payload is the JSON that was sent. It may have been encoded again: keys are made of its value.
-- An event that has a dead letter is one line: a dead letter, unless the event was processed after its last failure. Of several dead
-- letters of one event, the one that failed or was retried last counts. The key of the
-- old system is a hash that can't be reversed. It only joins the two tables; the import finds the key of each event in its body.
-- What each event becomes, by the status of its row and its dead letter:
--   processed, completed, success, succeeded; no dead letter, or its last failure and retry were before processed_at   an event
--   the same; the dead letter failed or was retried later, or processed_at is missing            an open dead letter. If only its retry
--                                                  is later, it may have succeeded: the error begins with "retried after it was processed"
--   pending, processing, failed, none, or no row   an open dead letter, or an exhausted one if it is permanently_failed. If the old
--                                                  system finishes it later, the next file resolves it
--   any other status, without a dead letter        a mistake that names the line; add the status to this query
WITH letters AS (
    SELECT * FROM (
           SELECT l.*, row_number() OVER (PARTITION BY coalesce(idempotency_key, 'id ' || id) ORDER BY tried_at DESC NULLS LAST, id DESC)
                       AS newest
             FROM (SELECT *, greatest(failed_at, last_retry_at, created_at) AS tried_at FROM dead_letter_webhooks) AS l) AS numbered
     WHERE newest = 1
), all_events AS (
    SELECT coalesce(e.provider, l.provider) AS provider, coalesce(e.payload, l.payload) AS payload,
           coalesce(e.correlation_id, l.correlation_id) AS correlation_id,
           coalesce(e.created_at, e.processed_at, l.created_at, l.failed_at) AS received_at,
           e.id IS NULL AS is_letter_alone, l.id AS letter, l.retry_count + 1 AS attempts, coalesce(l.last_error, l.error) AS error,
           coalesce(l.failed_at, l.created_at) AS first_failed_at, l.tried_at AS last_failed_at,
           lower(e.status) IN ('processed', 'completed', 'success', 'succeeded')
           AND coalesce(l.failed_at, l.created_at) <= e.processed_at AS is_only_retried_later,
           CASE WHEN lower(e.status) IN ('processed', 'completed', 'success', 'succeeded')
                     AND (l.id IS NULL OR l.tried_at <= e.processed_at) THEN 'processed'
                WHEN l.permanently_failed THEN 'permanently_failed'
                WHEN l.id IS NOT NULL THEN 'failed'
                ELSE coalesce(nullif(lower(e.status), ''), 'pending') END AS status
      FROM webhook_events AS e FULL JOIN letters AS l ON l.idempotency_key = e.idempotency_key
)
SELECT jsonb_build_object(
       'record', 'event', 'provider', CASE WHEN lower(provider) IN ('cal', 'cal.com', 'cal_com') THEN 'calcom' ELSE lower(provider) END,
       'body', payload::text, 'correlation_id', correlation_id, 'received_at', received_at AT TIME ZONE 'UTC', 'status', status,
       'attempts', attempts, 'error', CASE WHEN status <> 'processed'
       THEN left(concat_ws(': ', CASE WHEN is_only_retried_later THEN 'retried after it was processed' END, error), 500) END,
       'first_failed_at', first_failed_at AT TIME ZONE 'UTC', 'last_failed_at', last_failed_at AT TIME ZONE 'UTC')
  FROM all_events ORDER BY is_letter_alone, received_at, letter;
