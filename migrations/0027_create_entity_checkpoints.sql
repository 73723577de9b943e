-- entity_checkpoints: the state that an entity had at some of its changes since its last snapshot or delete, so that a late change folds
-- from the one before it instead of a whole life. There are some at every distance from the end, twice as far from each other as they are
-- from it. Rows are derived, and belong to whoever holds the lock of their entity.
--
-- Locks: none that anyone could wait for; the table is new.

-- +goose Up
SET LOCAL lock_timeout = '5s';

CREATE TABLE entity_checkpoints (
    provider    text        NOT NULL,
    kind        text        NOT NULL,
    external_id text        NOT NULL,
    -- How many changes it covers: from the last snapshot or delete up to its own order.
    links       bigint      NOT NULL,
    version     bigint,
    occurred_at timestamptz NOT NULL,
    event_id    uuid        NOT NULL,
    -- The latest time at which one of them occurred. Versions come before times, so this need not be occurred_at.
    latest_at   timestamptz NOT NULL,
    state       jsonb       NOT NULL,
    deleted     boolean     NOT NULL,

    PRIMARY KEY (provider, kind, external_id, links)
);
