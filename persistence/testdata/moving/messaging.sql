CREATE TABLE webhook_events (id int, instance text, payload json, created_at timestamptz);
CREATE TABLE webhook_dead_letters (id int, instance text, payload json, error text, attempts int, status text, created_at timestamptz, updated_at timestamptz);
INSERT INTO webhook_events VALUES
 (1, 'shop', '{"event": "messages.upsert", "instance": "shop", "data": {"key": {"id": "3EB0", "remoteJid": "55@s.whatsapp.net"}, "messageTimestamp": 1763700000}}', now() - interval '1 hour'),
 (2, 'shop', '{"event": "CONNECTION_UPDATE", "instance": "shop", "data": {"state": "open"}}', now());
INSERT INTO webhook_dead_letters VALUES
 (1, 'shop', '{"event": "messages.upsert", "instance": "shop", "data": {"key": {"id": "3EB1"}}}', 'no database', 2, 'pending', now(), now()),
 (2, 'shop', '{"event": "presence.update", "data": null}', 'no database', 3, 'failed', now(), now()),
 (3, 'shop', '{"event": "presence.update", "data": null}', NULL, 1, 'processed', now(), now());
