-- The tables of the rental backend (RentProg, Umnico), on PostgreSQL.
CREATE TABLE rentprog_webhook_events (
  id bigserial PRIMARY KEY, received_at timestamptz NOT NULL DEFAULT now(), event_name text, entity text, action text, entity_id text,
  branch text, actor_id text, description text, payload jsonb
);
CREATE TABLE rentprog_webhook_dead (
  id bigserial PRIMARY KEY, created_at timestamptz NOT NULL DEFAULT now(), payload jsonb, error text,
  status text CHECK (status IN ('worker_fail', 'replayed', 'max_retries', 'processed')), event_id text, event_name text,
  retry_count int NOT NULL DEFAULT 0, last_retry_at timestamptz
);
CREATE TABLE rentprog_webhook_error_log (
  id bigserial PRIMARY KEY, created_at timestamptz NOT NULL DEFAULT now(), phase text, kind text, error text, payload jsonb, meta jsonb
);
CREATE TABLE rentprog_cars (id bigint PRIMARY KEY, data jsonb, updated_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE rentprog_clients (LIKE rentprog_cars INCLUDING ALL);
CREATE TABLE rentprog_bookings (LIKE rentprog_cars INCLUDING ALL);
