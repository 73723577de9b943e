-- The membership system (GoCardless) on MySQL 5.7 or later, or MariaDB: one line for each event of its queue.
--   mysql --raw --skip-column-names --quick OLD_DATABASE < docs/moving/membership.mysql.sql > membership.ndjson
-- Without --raw the client escapes backslashes, and every payload with a line break or a quote in it is broken.
-- It expects the table below. If yours has another name, change what follows FROM.
--   webhook_queue  event_id, resource_type, action, payload json (links, details, metadata), raw_payload text (the whole event),
--                  status ('pending', 'processing', 'completed', 'failed'), retry_count, error_message, created_at, processing_at,
--                  completed_at
-- Assumptions:
--   - The times of the queue are those of the server, as NOW() and CURRENT_TIMESTAMP write them. If PHP writes them in another zone,
--     put SET time_zone = '+00:00'; with that zone before the query.
--   - raw_payload has the event's own created_at, which orders the events of a payment: the queue's is when it was received. Where
--     raw_payload is empty or cut off, the event is put together from the other columns, and counts from its receipt.
-- GoCardless sends envelopes, so each event is put into one.
-- What each row becomes, by its status:
--   completed                     an event
--   pending, processing, or none  an open dead letter; if the old system finishes it later, the next file resolves it
--   failed                        an exhausted dead letter
SET NAMES utf8mb4;
SELECT JSON_OBJECT(
       'record', 'event', 'provider', 'gocardless', 'received_at', FLOOR(UNIX_TIMESTAMP(created_at) * 1000),
       'body', CASE WHEN JSON_VALID(raw_payload) THEN CONCAT('{"events":[', raw_payload, ']}')
                    ELSE CAST(JSON_OBJECT('events', JSON_ARRAY(JSON_OBJECT(
                         'id', event_id, 'resource_type', resource_type, 'action', action,
                         'links', JSON_EXTRACT(payload, '$.links'), 'details', JSON_EXTRACT(payload, '$.details'),
                         'metadata', JSON_EXTRACT(payload, '$.metadata')))) AS CHAR) END,
       'status', CASE status WHEN 'completed' THEN 'processed' WHEN 'failed' THEN 'permanently_failed'
                             ELSE COALESCE(NULLIF(status, ''), 'pending') END,
       'attempts', CASE status WHEN 'completed' THEN retry_count + 1 ELSE retry_count END,
       'error', CASE WHEN COALESCE(status, '') <> 'completed' THEN LEFT(error_message, 500) END,
       'last_failed_at', CASE WHEN COALESCE(status, '') <> 'completed' AND retry_count > 0
                              THEN FLOOR(UNIX_TIMESTAMP(COALESCE(completed_at, processing_at, created_at)) * 1000) END)
  FROM webhook_queue ORDER BY created_at, event_id;
