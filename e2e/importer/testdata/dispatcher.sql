CREATE TYPE event_status AS ENUM ('pending', 'processing', 'retrying', 'delivered', 'failed');
CREATE TABLE subscriptions (id text PRIMARY KEY, url text, event_types text[], secret text, rate_limit int, created_at timestamptz, active boolean);
CREATE TABLE events (id text PRIMARY KEY, type text, source text, data jsonb, status event_status, attempts int, max_attempts int,
 next_attempt_at timestamptz, last_error text, created_at timestamptz, updated_at timestamptz, delivered_at timestamptz);
