CREATE TABLE subscriptions (id int, url text, event_types text[], secret text, rate_limit int, active boolean);
CREATE TABLE events (id uuid, type text, payload json, created_at timestamptz);
INSERT INTO subscriptions VALUES (1, 'https://crm.example.com/hooks', '{order.*,customer.created}', 'a secret of theirs', 50, true),
 (2, 'https://erp.example.com/hooks', '{order.paid}', 'another secret', NULL, false);
INSERT INTO events VALUES ('6f1c1e9c-7f0e-4c53-9d2e-0a3c3a3c3a3c', 'order.paid', '{"id": "order_1", "total": "19.99"}', now() - interval '1 hour');
