-- The membership system (GoCardless): its queue, and what it knows of members.
--   psql -AtX -f docs/moving/membership.sql > membership.ndjson
-- It expects the tables below. Where yours have other names, change what stands behind FROM and nothing else. MySQL says JSON_OBJECT for
-- jsonb_build_object and JSON_ARRAY for jsonb_build_array.
--   webhook_queue  event_id, resource_type, action, links json, details json, metadata json, status ('pending', 'processing',
--                  'completed', 'failed'), attempts, error, created_at, updated_at
--   members        customer_id, mandate_id, subscription_id, status, updated_at
-- A member is known by the customer, and has the mandate and the subscription for other names: most events name only one of them.
SELECT jsonb_build_object(
       'record', 'event', 'provider', 'gocardless', 'received_at', created_at, 'attempts', attempts, 'error', left(error, 500),
       'last_failed_at', CASE WHEN status <> 'completed' THEN updated_at END,
       'status', CASE status WHEN 'completed' THEN 'processed' WHEN 'failed' THEN 'permanently_failed' ELSE status END,
       'body', jsonb_build_object('events', jsonb_build_array(jsonb_build_object(
               'id', event_id, 'created_at', created_at, 'resource_type', resource_type, 'action', action, 'links', links,
               'details', details, 'metadata', metadata))))
  FROM (SELECT event_id, resource_type, action, links::jsonb AS links, details::jsonb AS details, metadata::jsonb AS metadata, status,
               attempts, error, created_at, updated_at FROM webhook_queue) AS q
UNION ALL
SELECT jsonb_build_object(
       'record', 'entity', 'provider', 'gocardless', 'kind', 'member', 'id', customer_id, 'as_of', updated_at,
       'names', jsonb_build_array(array_remove(ARRAY[mandate_id], NULL), array_remove(ARRAY[subscription_id], NULL)),
       'state', jsonb_strip_nulls(jsonb_build_object('status', status, 'customer', customer_id)))
  FROM (SELECT customer_id, mandate_id, subscription_id, status, updated_at FROM members) AS m
 WHERE customer_id IS NOT NULL;
