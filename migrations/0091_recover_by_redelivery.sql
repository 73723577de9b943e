-- recovery_items.path: the path of one more request that the event needs: for its body, or, if it is redeliverable, so that the
-- provider sends it again. recovery_items.is_delivered: an attempt that has succeeded, of a log of deliveries; it isn't missed, and
-- no other attempt of it is.
--
-- recoveries.redeliverable, asked: how many missed events only the provider can send, and how many it was asked to send again.
--
-- recovery_remainders: missed events that a recovery couldn't start itself: the provider was asked to send them again (tried), or
-- wasn't, because no operator has allowed it. The schedule neither reports nor tries them again. It removes rows after 100 days,
-- which is longer than any provider's log.
--
-- Locks: recoveries and recovery_items against everything for an instant (the defaults are constants). Processes of the release
-- before leave the columns alone.

-- +goose Up
SET LOCAL lock_timeout = '5s';

ALTER TABLE recoveries ADD COLUMN redeliverable bigint NOT NULL DEFAULT 0, ADD COLUMN asked bigint NOT NULL DEFAULT 0;
ALTER TABLE recovery_items
    ADD COLUMN path text NOT NULL DEFAULT '', ADD COLUMN redeliverable boolean NOT NULL DEFAULT false,
    ADD COLUMN is_delivered boolean NOT NULL DEFAULT false;

CREATE TABLE recovery_remainders (
    workflow_id text        PRIMARY KEY,
    at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    tried       boolean     NOT NULL
);

-- For their removal.
CREATE INDEX recovery_remainders_by_time ON recovery_remainders (at);

COMMENT ON COLUMN recoveries.redeliverable IS 'Part of missed: only the provider can send them.';
