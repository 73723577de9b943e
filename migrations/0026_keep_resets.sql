-- entities.reset_*: the order of the last snapshot or delete of an entity, before which nothing shows in its state; null if there was
-- none. entities.links: how many changes there are from there on, and latest_at: the latest time at which one of them occurred. So a late
-- change need not search. An entity that was there before does not know (links is null), and learns it with its next snapshot, delete
-- or late change.
--
-- Stop every worker of the release before first: it does not keep them.
--
-- Locks: entities against everything, for an instant: the columns have no default.

-- +goose Up
SET LOCAL lock_timeout = '5s';

ALTER TABLE entities
    ADD COLUMN reset_version bigint,
    ADD COLUMN reset_at timestamptz,
    ADD COLUMN reset_id uuid,
    ADD COLUMN links bigint,
    ADD COLUMN latest_at timestamptz;

COMMENT ON COLUMN entities.last_event_id IS
    'The latest event in fold order (version, occurred_at, id) that has changed the entity. Null if events have only mentioned it.';
COMMENT ON COLUMN entities.links IS
    'How many changes there are since the last snapshot or delete, with it. Null: not known, the row is of an earlier release.';
