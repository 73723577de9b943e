-- idempotency_keys: which event owns a provider's key. The row outlives the purge of its event, so that a redelivery
-- that is older than the event's retention is still known as a duplicate.
--
-- Locks: none that anyone could wait for; the table is new.

-- +goose Up
SET LOCAL lock_timeout = '5s';

CREATE TABLE idempotency_keys (
    provider   text        NOT NULL,
    key        text        NOT NULL,
    event_id   uuid        NOT NULL,
    first_seen timestamptz NOT NULL,

    PRIMARY KEY (provider, key)
);

COMMENT ON COLUMN idempotency_keys.first_seen IS
    'When the owner was received; its dedupe window runs from here.';
