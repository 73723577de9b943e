-- The voice and booking platform (Retell, Cal.com and Stripe) on MySQL 8 or MariaDB: one line for each event. On PostgreSQL use
-- voice.sql.
--   mysql --raw --skip-column-names --quick OLD_DATABASE < docs/moving/voice.mysql.sql > voice.ndjson
-- Without --raw the client escapes backslashes, and every payload with a line break or a quote in it is broken.
-- It expects the tables below. If yours have other names, change what follows FROM and JOIN.
--   webhook_events        id, provider, payload json, idempotency_key, correlation_id, status, created_at, processed_at
--   dead_letter_webhooks  id, provider, payload json, idempotency_key, correlation_id, error, last_error, failed_at, retry_count,
--                         last_retry_at, permanently_failed, created_at
-- Assumptions:
--   - Times have no zone, and are UTC: the default of Laravel's `timezone`. If config/app.php has another zone, write its offset for
--     +00:00. Don't set a time_zone for the session: a TIMESTAMP would then be read as another time than Laravel reads.
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
SET NAMES utf8mb4;
SET @time = '%Y-%m-%dT%H:%i:%s.%f+00:00';
WITH letters AS (
    SELECT * FROM (
           SELECT l.*, ROW_NUMBER() OVER (PARTITION BY COALESCE(idempotency_key, CONCAT('id ', id)) ORDER BY tried_at DESC, id DESC)
                       AS newest
             FROM (SELECT d.*, GREATEST(COALESCE(failed_at, created_at), COALESCE(last_retry_at, failed_at, created_at),
                                        COALESCE(created_at, failed_at)) AS tried_at
                     FROM dead_letter_webhooks AS d) AS l) AS numbered
     WHERE newest = 1
), all_events AS (
    SELECT COALESCE(e.provider, l.provider) AS provider, COALESCE(e.payload, l.payload) AS payload,
           COALESCE(e.correlation_id, l.correlation_id) AS correlation_id,
           COALESCE(e.created_at, e.processed_at, l.created_at, l.failed_at) AS received_at,
           0 AS is_letter_alone, l.id AS letter, l.retry_count + 1 AS attempts, COALESCE(l.last_error, l.error) AS error,
           COALESCE(l.failed_at, l.created_at) AS first_failed_at, l.tried_at AS last_failed_at,
           LOWER(e.status) IN ('processed', 'completed', 'success', 'succeeded')
           AND COALESCE(l.failed_at, l.created_at) <= e.processed_at AS is_only_retried_later,
           CASE WHEN LOWER(e.status) IN ('processed', 'completed', 'success', 'succeeded')
                     AND (l.id IS NULL OR l.tried_at <= e.processed_at) THEN 'processed'
                WHEN l.permanently_failed THEN 'permanently_failed'
                WHEN l.id IS NOT NULL THEN 'failed'
                ELSE COALESCE(NULLIF(LOWER(e.status), ''), 'pending') END AS status
      FROM webhook_events AS e LEFT JOIN letters AS l ON l.idempotency_key = e.idempotency_key
    UNION ALL
    SELECT l.provider, l.payload, l.correlation_id, COALESCE(l.created_at, l.failed_at), 1, l.id, l.retry_count + 1,
           COALESCE(l.last_error, l.error), COALESCE(l.failed_at, l.created_at), l.tried_at, FALSE,
           CASE WHEN l.permanently_failed THEN 'permanently_failed' ELSE 'failed' END
      FROM letters AS l
     WHERE NOT EXISTS (SELECT 1 FROM webhook_events AS e WHERE e.idempotency_key = l.idempotency_key)
)
SELECT JSON_OBJECT(
       'record', 'event', 'provider', CASE WHEN lower(provider) IN ('cal', 'cal.com', 'cal_com') THEN 'calcom' ELSE lower(provider) END,
       'body', CAST(payload AS CHAR), 'correlation_id', correlation_id, 'received_at', DATE_FORMAT(received_at, @time),
       'status', status, 'attempts', attempts, 'error', CASE WHEN status <> 'processed'
       THEN LEFT(CONCAT_WS(': ', CASE WHEN is_only_retried_later THEN 'retried after it was processed' END, error), 500) END,
       'first_failed_at', DATE_FORMAT(first_failed_at, @time), 'last_failed_at', DATE_FORMAT(last_failed_at, @time))
  FROM all_events ORDER BY is_letter_alone, received_at, letter;
