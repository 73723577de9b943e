-- The WhatsApp fleet (Evolution API): its dead letters, in every status. PostgreSQL.
--   psql -AtX "$OLD_DATABASE_URL" -f docs/moving/messaging.sql > messaging.ndjson
-- It has no table of events, and its keys stand in Redis, live for a day and lack the name of the event: they are not brought. Keys are
-- found in the bodies. What has been processed comes first: of two rows of one event, it counts.
-- What each row of webhook_dlq becomes, by its status:
--   pending, processing, or none  an open dead letter
--   failed                        an exhausted dead letter
--   processed                     a processed event, also if the same event has another, unfinished row
-- event_type counts where the body doesn't name its event.
SELECT jsonb_build_object(
       'record', CASE status WHEN 'processed' THEN 'event' ELSE 'dead_letter' END, 'provider', 'evolution', 'body', payload,
       'path', jsonb_strip_nulls(jsonb_build_object('instance', instance_name, 'event', nullif(event_type, 'unknown'))),
       'received_at', created_at, 'attempts', tentativa, 'error', CASE WHEN status IS DISTINCT FROM 'processed' THEN left(erro, 500) END,
       'last_failed_at', CASE WHEN status IS DISTINCT FROM 'processed' THEN processed_at END,
       'status', CASE status WHEN 'failed' THEN 'permanently_failed' WHEN 'processed' THEN status ELSE 'pending' END)
  FROM webhook_dlq
 WHERE payload IS NOT NULL
 ORDER BY status IS DISTINCT FROM 'processed', created_at, id;
