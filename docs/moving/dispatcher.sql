-- The outbound dispatcher: its subscriptions with their secrets, and the events that were published, so that who publishes one once
-- more meets a duplicate.
--   psql -AtX -f docs/moving/dispatcher.sql > dispatcher.ndjson     # it holds secrets: keep it as you keep those
-- It expects the tables below. Where yours have other names, change what stands behind FROM and nothing else.
--   subscriptions  id, url, event_types text[], secret, rate_limit (a second), active
--   events         id, type, payload json or jsonb, created_at
-- "signature" says what your receivers check today: here X-Webhook-Signature: sha256=<hex of HMAC-SHA256 of the body>. Without it
-- deliveries are signed as Standard Webhooks, whose secrets begin with whsec_.
-- "active" is false while both systems run, so that no receiver gets anything twice. At the cut-over write true, and import once more.
SELECT jsonb_build_object(
       'record', 'subscription', 'name', 'old-' || id, 'url', url, 'event_types', event_types, 'secret', secret,
       'rate_limit', rate_limit, 'active', false,
       'signature', '{"hmac": {"signed": "{body}", "signature": {"header": "x-webhook-signature", "grammar": "prefix",
                     "prefix": "sha256="}}}'::jsonb)
  FROM (SELECT id, url, event_types, secret, rate_limit FROM subscriptions WHERE active) AS s
UNION ALL
SELECT jsonb_build_object(
       'record', 'event', 'provider', 'events', 'received_at', created_at,
       'body', jsonb_build_object('id', id, 'type', type, 'time', created_at, 'data', payload))
  FROM (SELECT id::text AS id, type, payload::jsonb AS payload, created_at FROM events) AS e;
