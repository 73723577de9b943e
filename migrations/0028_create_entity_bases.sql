-- entity_bases: what an entity was at the end of a part of its life whose events are purged. Retention folds that part into one row and
-- removes its changes; without it an entity that never gets a snapshot keeps every change for ever. entities.base_* is the order of the
-- last change that the base covers, which every writer reads with the lock of the entity: what comes at or before it shows in nothing.
-- An entity has no reset at or before its base: the base takes that place.
--
-- Stop every worker of the release before first: it would fold a late change without the base.
--
-- Locks: entities against everything, for an instant: the columns have no default.

-- +goose Up
SET LOCAL lock_timeout = '5s';

CREATE TABLE entity_bases (
    provider     text        NOT NULL,
    kind         text        NOT NULL,
    external_id  text        NOT NULL,
    -- As of a checkpoint: the changes since the last snapshot or delete, and when the latest of them occurred.
    links        bigint      NOT NULL,
    version      bigint,
    occurred_at  timestamptz NOT NULL,
    event_id     uuid        NOT NULL,
    latest_at    timestamptz NOT NULL,
    state        jsonb       NOT NULL,
    deleted      boolean     NOT NULL,
    -- How many changes it has taken in, and the first and the last of their events by ID, which is by receipt.
    collapsed    bigint      NOT NULL,
    first_id     uuid        NOT NULL,
    last_id      uuid        NOT NULL,
    collapsed_at timestamptz NOT NULL DEFAULT now(),

    PRIMARY KEY (provider, kind, external_id)
);

ALTER TABLE entities
    ADD COLUMN base_version bigint,
    ADD COLUMN base_at timestamptz,
    ADD COLUMN base_id uuid;

COMMENT ON COLUMN entities.base_id IS
    'With base_version and base_at, the order up to which the history of the entity is collapsed into entity_bases. Null: none of it is.';
