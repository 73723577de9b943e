-- rebuilds.corrected_keys counts the events that have another key by the current definition, shared_keys those of them whose key
-- another event has, and key_conflicts lists the first of those.
--
-- rebuild_keys: the keys that a dry run would claim. It claims none, so this is how it finds that two of its events would share one.
-- The pages of the next rebuild remove the rows.
--
-- Locks: rebuilds exclusively for a moment: the defaults are constants, so no row is rewritten.

-- +goose Up
SET LOCAL lock_timeout = '5s';

ALTER TABLE rebuilds
    ADD COLUMN corrected_keys bigint NOT NULL DEFAULT 0,
    ADD COLUMN shared_keys    bigint NOT NULL DEFAULT 0,
    ADD COLUMN key_conflicts  jsonb  NOT NULL DEFAULT '[]';

CREATE TABLE rebuild_keys (
    rebuild_id  text        NOT NULL,
    provider    text        NOT NULL,
    key         text        NOT NULL,
    event_id    uuid        NOT NULL,
    received_at timestamptz NOT NULL,

    PRIMARY KEY (rebuild_id, provider, key)
);
