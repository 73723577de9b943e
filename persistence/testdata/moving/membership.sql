CREATE TABLE webhook_queue (event_id text, resource_type text, action text, links json, details json, metadata json, status text, attempts int, error text, created_at timestamptz, updated_at timestamptz);
CREATE TABLE members (customer_id text, mandate_id text, subscription_id text, status text, updated_at timestamptz);
INSERT INTO webhook_queue VALUES
 ('EV1', 'mandates', 'created', '{"mandate": "MD1", "customer": "CU1"}', '{"origin": "api"}', '{}', 'completed', 1, NULL, now() - interval '3 days', now()),
 ('EV2', 'payments', 'confirmed', '{"payment": "PM1"}', NULL, NULL, 'pending', 0, NULL, now(), now()),
 ('EV3', 'payments', 'confirmed', '{"payment": "PM2"}', NULL, NULL, 'failed', 3, 'no member', now() - interval '1 day', now());
INSERT INTO members VALUES ('CU1', 'MD1', 'SB1', 'active', now() - interval '1 hour'), ('CU2', 'MD2', NULL, 'cancelled', now()), (NULL, NULL, 'SB9', 'new', now());
