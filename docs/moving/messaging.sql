-- The WhatsApp fleet (Evolution API): its dead letters, in every status, one line for each event. PostgreSQL.
--   psql -AtX "$OLD_DATABASE_URL" -f docs/moving/messaging.sql > messaging.ndjson
-- It has no table of events, and its keys are in Redis, live for a day and lack the name of the event: they aren't exported. The import
-- finds keys in the bodies.
-- What each event becomes, by the status of its newest row in webhook_dlq:
--   pending, processing, or none  an open dead letter
--   failed                        an exhausted dead letter
--   processed                     a processed event
-- The newest row counts because the job that tries dead letters again marks a row processed even if the event failed again: that failure
-- is a new row. Rows of one event have the same payload except for destination, which has the time of sending in date_time. Without
-- date_time they are of one event if they are within 30 minutes, or if the older one was processed within 30 minutes of the newer one.
-- The newest lines come first: of several lines with one key, such as a message that was sent again after a reconnect, the import uses the
-- first.
-- event_type counts where the body doesn't name its event.
WITH stored AS (
  SELECT *, CASE jsonb_typeof(payload) WHEN 'object' THEN payload - 'destination' ELSE payload END AS content
    FROM webhook_dlq WHERE payload IS NOT NULL
), linked AS (
  SELECT *, coalesce(content ? 'date_time' OR created_at - lag(created_at) OVER same <= interval '30 minutes'
                     OR created_at - lag(processed_at) OVER same BETWEEN interval '-30 minutes' AND interval '30 minutes', false) AS continues
    FROM stored WINDOW same AS (PARTITION BY instance_name, content ORDER BY created_at, id)
), numbered AS (
  SELECT *, count(*) FILTER (WHERE NOT continues) OVER (PARTITION BY instance_name, content ORDER BY created_at, id) AS number FROM linked
), newest AS (
  SELECT DISTINCT ON (instance_name, content, number) *, status IS DISTINCT FROM 'processed' AS waits,
         min(created_at) OVER event AS received_at, sum(tentativa) OVER event AS attempts
    FROM numbered WINDOW event AS (PARTITION BY instance_name, content, number)
   ORDER BY instance_name, content, number, created_at DESC, status IS DISTINCT FROM 'processed' DESC, id DESC
)
SELECT jsonb_build_object(
       'record', CASE WHEN waits THEN 'dead_letter' ELSE 'event' END, 'provider', 'evolution', 'body', payload,
       'path', jsonb_strip_nulls(jsonb_build_object('instance', instance_name, 'event', nullif(event_type, 'unknown'))),
       'received_at', received_at, 'attempts', attempts, 'error', CASE WHEN waits THEN left(erro, 500) END,
       'last_failed_at', CASE WHEN waits THEN coalesce(processed_at, created_at) END,
       'status', CASE status WHEN 'failed' THEN 'permanently_failed' WHEN 'processed' THEN status ELSE 'pending' END)
  FROM newest ORDER BY created_at DESC, id;
