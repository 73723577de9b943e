-- The voice and booking platform (Retell, Cal.com and Stripe): keys, events and dead letters. Its hashes cannot be turned round: the keys
-- are found anew in the bodies that belong to them.
--   psql -AtX -f docs/moving/voice.sql > voice.ndjson
-- It expects the tables below, with times in UTC and without a zone, as Laravel writes them. Where yours have other names, change what
-- stands behind FROM and nothing else.
--   webhook_logs           id, provider ('retell', 'cal', 'stripe'), payload text, headers json, status, attempts, correlation_id,
--                          created_at
--   webhook_deduplication  webhook_log_id, first_seen_at, expires_at
--   webhook_dead_letters   id, provider, payload text, headers json, error_message, retry_count, status, created_at, updated_at
WITH names (old, new) AS (VALUES ('retell', 'retell'), ('cal', 'calcom'), ('calcom', 'calcom'), ('stripe', 'stripe'))
SELECT jsonb_build_object(
       'record', 'key', 'provider', new, 'body', payload, 'headers', headers, 'first_seen', first_seen_at AT TIME ZONE 'UTC',
       'expires_at', expires_at AT TIME ZONE 'UTC')
  FROM (SELECT l.provider, l.payload, l.headers::jsonb AS headers, d.first_seen_at, d.expires_at
          FROM webhook_deduplication AS d JOIN webhook_logs AS l ON l.id = d.webhook_log_id) AS k JOIN names ON old = provider
UNION ALL
SELECT jsonb_build_object(
       'record', 'event', 'provider', new, 'body', payload, 'headers', headers, 'attempts', attempts,
       'correlation_id', correlation_id, 'received_at', created_at AT TIME ZONE 'UTC')
  FROM (SELECT provider, payload, headers::jsonb AS headers, attempts, correlation_id, created_at FROM webhook_logs
         WHERE status IN ('processed', 'completed', 'success')) AS e JOIN names ON old = provider
UNION ALL
SELECT jsonb_build_object(
       'record', 'dead_letter', 'provider', new, 'body', payload, 'headers', headers, 'attempts', retry_count,
       'error', left(error_message, 500), 'received_at', created_at AT TIME ZONE 'UTC',
       'last_failed_at', updated_at AT TIME ZONE 'UTC',
       'status', CASE WHEN status = 'permanently_failed' THEN status ELSE 'failed' END)
  FROM (SELECT provider, payload, headers::jsonb AS headers, retry_count, error_message, status, created_at, updated_at
          FROM webhook_dead_letters WHERE status <> 'resolved') AS d JOIN names ON old = provider;
