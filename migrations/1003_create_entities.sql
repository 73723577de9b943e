-- Entities, the changes that they are folded from, and what retention keeps of purged changes.
--
-- Locks: none that anyone could wait for; the tables are new.

-- +goose Up
SET LOCAL lock_timeout = '5s';

-- entities: the folded state of each thing that events name. The row is derived: event_entities holds the changes, and a fold
-- can run again at any time. Pages have room, so that the frequent update of state stays on its page and touches no index.
CREATE TABLE entities (
    provider        text        NOT NULL,
    kind            text        NOT NULL,
    external_id     text        NOT NULL,
    state           jsonb       NOT NULL DEFAULT '{}',
    deleted         boolean     NOT NULL DEFAULT false,
    version         bigint,
    occurred_at     timestamptz,
    -- The latest event in fold order (version, occurred_at, id) that changed the entity. Null if events only mentioned it.
    last_event_id   uuid,
    updated_at      timestamptz NOT NULL DEFAULT now(),
    -- reset_*: the order of the last snapshot or delete, before which nothing shows in the state; null if there was none.
    reset_version   bigint,
    reset_at        timestamptz,
    reset_id        uuid,
    -- How many changes there are since the last snapshot or delete, including it. Null: not known yet.
    links           bigint,
    -- The latest time at which one of them occurred.
    latest_at       timestamptz,
    -- base_*: the order up to which the history is collapsed into entity_bases; null: none of it is. A change at or before it
    -- has no effect, and an entity has no reset there.
    base_version    bigint,
    base_at         timestamptz,
    -- With base_version and base_at, the order up to which the history of the entity is collapsed into entity_bases. Null:
    -- none of it is.
    base_id         uuid,
    -- Rises by 1 with each change of the row, under its lock. A new entity begins with the time in microseconds, so that it
    -- also rises if an entity is removed and created again.
    revision        bigint      NOT NULL DEFAULT 0,
    -- lost_*: the order before which changes are gone that no base holds; null: none are. The state is complete only if it
    -- begins with a snapshot or a delete at or after it. See docs/retention.md.
    lost_version    bigint,
    lost_at         timestamptz,
    -- With lost_version and lost_at, the order before which changes are gone that no base holds. Null: none are. See
    -- docs/retention.md.
    lost_id         uuid,
    -- How many events there are whose changes a purge removed, and the exclusive or of the last 48 bits of their IDs. A
    -- history from the archive is compared with both before it replaces what is lost. Null: not known.
    purged_events   bigint,
    purged_sum      bigint,
    -- A purge removed mentions, so the entity stays when the last mention is removed.
    purged_mentions boolean,

    PRIMARY KEY (provider, kind, external_id),
    CONSTRAINT entities_state_is_object CHECK (jsonb_typeof(state) = 'object')
) WITH (fillfactor = 85);

-- event_entities: the changes of each event to each entity. An event may change an entity more than once: position is the place
-- of the change in the event.
CREATE TABLE event_entities (
    event_id    uuid        NOT NULL,
    provider    text        NOT NULL,
    kind        text        NOT NULL,
    external_id text        NOT NULL,
    position    integer     NOT NULL,
    op          text        NOT NULL,
    change      jsonb       NOT NULL,
    version     bigint,
    occurred_at timestamptz NOT NULL,

    PRIMARY KEY (event_id, kind, external_id, position),
    CONSTRAINT event_entities_op_known CHECK (op IN ('snapshot', 'patch', 'delete')),
    CONSTRAINT event_entities_change_is_object CHECK (jsonb_typeof(change) = 'object')
);
-- A fold reads changes in order: no version before any version, then time, then event. The expression makes a missing version
-- comparable, so that a fold can begin at the last snapshot.
CREATE INDEX event_entities_changes ON event_entities
    (provider, kind, external_id, (coalesce(version::numeric, '-Infinity')), occurred_at, event_id, position)
    WHERE op <> 'patch' OR change <> '{}';
-- A mention (an empty patch) never changes a state, and some entities have millions: folds don't read them.
CREATE INDEX event_entities_mentions ON event_entities
    (provider, kind, external_id, (coalesce(version::numeric, '-Infinity')), occurred_at, event_id, position)
    WHERE op = 'patch' AND change = '{}';

-- entity_checkpoints: the state that an entity had at some of its changes since its last snapshot or delete, so that a late
-- change folds from the checkpoint before it instead of a whole history. Their distance doubles with the distance from the end.
-- Rows are derived, and belong to the holder of the entity's lock.
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

-- entity_bases: the state of an entity at the end of a part of its history whose events are purged. Retention folds that part
-- into one row and removes its changes; without it, an entity that never gets a snapshot would keep every change forever.
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
    -- How many changes it includes, and the first and the last of their events by ID, which is by receipt.
    collapsed    bigint      NOT NULL,
    first_id     uuid        NOT NULL,
    last_id      uuid        NOT NULL,
    collapsed_at timestamptz NOT NULL DEFAULT now(),
    -- How many of them entity_base_events lists. Of the others, only the first and the last ID are known.
    recorded     bigint      NOT NULL DEFAULT 0,

    PRIMARY KEY (provider, kind, external_id)
);

-- entity_base_events: which events a base covers, one row for each part of a history that was collapsed. Order ranges don't say
-- it: the order of a purged event isn't known any more, and a provider's event IDs are interleaved among all its entities. The
-- latest 100,000 changes of an entity are listed.
CREATE TABLE entity_base_events (
    provider    text   NOT NULL,
    kind        text   NOT NULL,
    external_id text   NOT NULL,
    -- The value of entity_bases.collapsed including these: their place among the others.
    collapsed   bigint NOT NULL,
    changes     bigint NOT NULL,
    first_id    uuid   NOT NULL,
    last_id     uuid   NOT NULL,
    events      uuid[] NOT NULL,

    PRIMARY KEY (provider, kind, external_id, collapsed)
);

-- entity_names: names of an entity in addition to its ID, where events name it in several ways, such as a member by its
-- customer, mandate or subscription. They are kept forever, so that a later event with only a lesser name reaches the entity. A
-- row belongs to the holder of the advisory locks of its name and of its entity; the name itself is no longer an entity.
CREATE TABLE entity_names (
    provider    text     NOT NULL,
    kind        text     NOT NULL,
    name        text     NOT NULL,
    -- The entity that the name stands for, which is no name of another one.
    external_id text     NOT NULL,
    -- The rank of external_id among the names of its kind; 0 is the best, and no two of that rank are one entity.
    rank        smallint NOT NULL,

    PRIMARY KEY (provider, kind, name),
    CONSTRAINT entity_names_name_another CHECK (name <> external_id)
);
CREATE INDEX entity_names_by_entity ON entity_names (provider, kind, external_id, name);
