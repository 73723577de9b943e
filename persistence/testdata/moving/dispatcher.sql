CREATE TYPE event_status AS ENUM ('pending', 'processing', 'retrying', 'delivered', 'failed');
CREATE TABLE subscriptions (id text PRIMARY KEY, url text, event_types text[], secret text, rate_limit int, created_at timestamptz, active boolean);
CREATE TABLE events (id text PRIMARY KEY, type text, source text, data jsonb, status event_status, attempts int, max_attempts int,
 next_attempt_at timestamptz, last_error text, created_at timestamptz, updated_at timestamptz, delivered_at timestamptz);
INSERT INTO subscriptions VALUES ('sub_1', 'https://crm.example.com/hooks', '{order.*,customer.created}', 'a secret of theirs', 50, now(), true),
 ('sub_2', 'https://erp.example.com/hooks', '{order.paid}', 'another secret of theirs', 0, now(), false);
INSERT INTO events SELECT s::text, 'order.paid', 'shop', '{"id": "o1"}', s, 1, 5, NULL, 'HTTP 500', now() - interval '1 hour', now(), NULL
  FROM unnest(enum_range(NULL::event_status)) AS s;
