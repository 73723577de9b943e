-- Whether a delivery has an ID of its own (webhook-id). Deliveries that are queued already, and those that a process of the release
-- before queues, keep the ID of their event: their receivers may have seen it.
--
-- Locks: delivery_queue against everything for an instant (the default is a constant).

-- +goose Up
SET LOCAL lock_timeout = '5s';

ALTER TABLE delivery_queue ADD COLUMN own_id boolean NOT NULL DEFAULT false;
