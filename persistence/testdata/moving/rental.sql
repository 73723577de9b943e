CREATE TABLE events (id int, source text, body jsonb, headers jsonb, received_at timestamptz, processed_at timestamptz);
CREATE TABLE dead_letters (id int, source text, body jsonb, headers jsonb, error text, attempts int, status text, created_at timestamptz, updated_at timestamptz);
CREATE TABLE cars (id int, data jsonb, updated_at timestamptz);
CREATE TABLE clients (LIKE cars);
CREATE TABLE bookings (LIKE cars);
INSERT INTO events VALUES
 (1, 'rentprog', '{"event": "car_update", "payload": "{\"id\"=>65001, \"mileage\"=>[90, 100]}"}', '{"user-agent": "rentprog_webhook/1.0"}', now() - interval '3 days', now()),
 (2, 'umnico', '{"type": "message.incoming", "accountId": 7, "leadId": 9, "message": {"messageId": "m1", "datetime": 1763700000000}}', NULL, now() - interval '2 days', now()),
 (3, 'rentprog', '{"event": "car_update", "payload": "{\"id\"=>65001, \"mileage\"=>[100, 110]}"}', NULL, now() - interval '1 day', NULL),
 (4, 'rentprog', '{"event": "client_update", "payload": "broken"}', NULL, now() - interval '1 day', NULL);
INSERT INTO dead_letters SELECT 1, 'rentprog', body, headers, 'timeout', 3, 'failed', received_at, now() FROM events WHERE id = 4;
INSERT INTO dead_letters VALUES (2, 'rentprog', '{"event": "car_update"}', NULL, NULL, 1, 'processed', now(), now());
INSERT INTO cars VALUES (65001, '{"plate": "A 1", "mileage": 100, "note": null}', now() - interval '2 days');
INSERT INTO clients VALUES (300001, '{"name": "Ada"}', now());
