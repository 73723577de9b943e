-- What a purge removes of an entity's history is recorded, so that an expunge can tell which entities it can't fold again.
--
-- entities.lost_*: the changes before this order are gone, and no base has them. The state is the fold of all changes only if it
-- begins with a snapshot or a delete at or after it; otherwise the entity is incomplete. An expunge moves it up to the base that
-- holds what the expunged event did.
-- entities.purged_events and purged_sum: how many events there are whose changes a purge removed, and the exclusive or of their
-- IDs' last 48 bits. This is what a history that is read from the archive is compared with before it replaces what is lost: a
-- count and a sum take the same room however many events there are. Null: the entity is older than this migration, so that what
-- was removed before isn't known.
-- entities.purged_mentions: a purge removed mentions of the entity, so it stays when the last mention goes.
--
-- entity_base_events: which events a base covers, one row for each part of a history that was collapsed. Order ranges don't say
-- it: the order of a purged event isn't known any more, and the IDs of a provider's events lie between those of every base that it
-- has. An ID takes 16 bytes where a change took some hundred. The latest 100,000 changes of an entity are listed;
-- entity_bases.recorded counts those that are. Of a base with more (and of one from before this migration) only the first and the
-- last ID are known: it may cover every event between them.
--
-- Locks: entities and entity_bases against everything, for an instant: no row is written.

-- +goose Up
SET LOCAL lock_timeout = '5s';

ALTER TABLE entities
    ADD COLUMN lost_version bigint,
    ADD COLUMN lost_at timestamptz,
    ADD COLUMN lost_id uuid,
    ADD COLUMN purged_events bigint,
    ADD COLUMN purged_sum bigint,
    ADD COLUMN purged_mentions boolean;

ALTER TABLE entity_bases ADD COLUMN recorded bigint NOT NULL DEFAULT 0;

CREATE TABLE entity_base_events (
    provider    text    NOT NULL,
    kind        text    NOT NULL,
    external_id text    NOT NULL,
    -- What entity_bases.collapsed was with these: their place among the others.
    collapsed   bigint  NOT NULL,
    changes     bigint  NOT NULL,
    first_id    uuid    NOT NULL,
    last_id     uuid    NOT NULL,
    events      uuid[]  NOT NULL,

    PRIMARY KEY (provider, kind, external_id, collapsed)
);

COMMENT ON COLUMN entities.lost_id IS
    'With lost_version and lost_at, the order before which changes are gone that no base holds. Null: none are. See docs/retention.md.';
COMMENT ON COLUMN entities.purged_events IS
    'How many events there are whose changes of the entity a purge removed. Null: not known, the entity is older than the column.';
