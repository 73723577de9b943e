-- A destination that fails is probed every 30 seconds by the oldest delivery that waits for its next attempt: probe_at is when the
-- next probe may be; null where nothing has failed since the last success. The success that ends it makes due what has failed
-- meanwhile, each delivery once: pulled_forward.
--
-- Locks: destination_states and delivery_queue against everything for an instant (the defaults are constants).

-- +goose Up
SET LOCAL lock_timeout = '5s';

ALTER TABLE destination_states ADD COLUMN probe_at timestamptz;
ALTER TABLE delivery_queue ADD COLUMN pulled_forward boolean NOT NULL DEFAULT false;
