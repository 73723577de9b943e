-- The WhatsApp fleet (Evolution API): messages and other events, and dead letters. Its keys stand in Redis, live for a day and lack
-- the name of the event: they are not brought. They are found anew in the bodies.
--   psql -AtX -f docs/moving/messaging.sql > messaging.ndjson
-- It expects the tables below. Where yours have other names, change what stands behind FROM and nothing else.
--   webhook_events        id, instance, payload json or jsonb, created_at
--   webhook_dead_letters  id, instance, payload, error, attempts, status ('pending', 'processing', 'processed', 'failed'),
--                         created_at, updated_at
-- Only messages carry a key in their body. Of the other events it is the hash of the bytes, which jsonb does not keep: they get the ID of
-- the old row.
SELECT jsonb_build_object(
       'record', 'event', 'provider', 'evolution', 'body', payload, 'path', jsonb_build_object('instance', instance),
       'key', CASE WHEN lower(payload->>'event') !~ '^(messages[._](upsert|delete|edited)|send[._]message)$' THEN 'old:' || id END,
       'received_at', created_at)
  FROM (SELECT id, instance, payload::jsonb AS payload, created_at FROM webhook_events) AS e
UNION ALL
SELECT jsonb_build_object(
       'record', 'dead_letter', 'provider', 'evolution', 'body', payload, 'path', jsonb_build_object('instance', instance),
       'key', 'old-dead:' || id, 'received_at', created_at, 'last_failed_at', updated_at, 'attempts', attempts,
       'error', left(error, 500), 'status', CASE WHEN status = 'failed' THEN 'permanently_failed' ELSE status END)
  FROM (SELECT id, instance, payload::jsonb AS payload, error, attempts, status, created_at, updated_at FROM webhook_dead_letters
         WHERE status <> 'processed') AS d;
