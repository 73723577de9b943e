-- The outbound dispatcher: its subscriptions with their secrets, the events that it has delivered, so that whoever publishes one once
-- more meets a duplicate, and those that it has given up, which an operator replays to the receivers.
--   psql -AtX -f docs/moving/dispatcher.sql > dispatcher.ndjson     # it holds secrets: keep it as you keep those
-- While both systems run, subscriptions are inactive here and nothing is delivered twice, and events that the dispatcher may still
-- deliver (pending, processing, retrying) are left out. Once the dispatcher is stopped for good, say so:
--   PGOPTIONS='-c holdfast.stopped=on' psql -AtX -f docs/moving/dispatcher.sql > stopped.ndjson
-- Subscriptions are then as active as they were, and what the dispatcher has not delivered is a dead letter here.
-- It expects the tables below. Where yours have other names, change what stands behind FROM and nothing else.
--   subscriptions  id, url, event_types text[], secret, rate_limit (a second), active
--   events         id, type, source, data jsonb, status, attempts, last_error, created_at, updated_at
-- "signature" says what your receivers check today: here X-Webhook-Signature: sha256=<hex of HMAC-SHA256 of the body>. Without it
-- deliveries are signed as Standard Webhooks, whose secrets begin with whsec_.
-- "retry" repeats as the dispatcher did: 5 attempts, after 1 s, 2 s, 4 s and 8 s.
-- The key of an event is its source and its id, as the definition "events" finds them in the body.
SELECT jsonb_build_object(
       'record', 'subscription', 'name', lower(id), 'url', url, 'providers', '["events"]'::jsonb, 'event_types', event_types,
       'secret', secret, 'rate_limit', nullif(rate_limit, 0), 'retry', '{"named": "dispatcher"}'::jsonb,
       'active', active AND coalesce(current_setting('holdfast.stopped', true), '') IN ('on', 'true', '1'),
       'signature', '{"hmac": {"signed": "{body}", "signature": {"header": "x-webhook-signature", "grammar": "prefix",
                     "prefix": "sha256="}}}'::jsonb)
  FROM (SELECT id::text AS id, url, event_types, secret, rate_limit, active FROM subscriptions) AS s
UNION ALL
SELECT jsonb_build_object('provider', 'events', 'received_at', created_at, 'attempts', attempts)
       || jsonb_build_object('body', jsonb_build_object('id', id, 'type', type, 'data', data)
                                     || CASE WHEN source <> '' THEN jsonb_build_object('source', source) ELSE '{}' END)
       || CASE status WHEN 'delivered' THEN jsonb_build_object('record', 'event')
          ELSE jsonb_build_object('record', 'dead_letter', 'error', left(last_error, 500), 'last_failed_at', updated_at,
                                  'status', CASE status WHEN 'failed' THEN 'permanently_failed' ELSE 'pending' END) END
  FROM (SELECT id::text AS id, type, source, data::jsonb AS data, status::text AS status, attempts, last_error, created_at, updated_at
          FROM events) AS e
 WHERE status IN ('delivered', 'failed') OR coalesce(current_setting('holdfast.stopped', true), '') IN ('on', 'true', '1');
