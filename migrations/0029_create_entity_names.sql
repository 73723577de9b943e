-- entity_names: the names that an entity has beside its ID, where events name it now in one way and now in another: a member by its
-- customer, its mandate, its subscription. What an event says of names is kept for good, so that a later event that has only a lesser
-- one reaches the entity. A row belongs to whoever holds the advisory locks of its name and of what it stands for; the name itself is
-- no entity any more.
--
-- Stop every worker of the release before first: it would write to a name instead of what that stands for.
--
-- Locks: none that anyone could wait for; the table is new.

-- +goose Up
SET LOCAL lock_timeout = '5s';

CREATE TABLE entity_names (
    provider    text     NOT NULL,
    kind        text     NOT NULL,
    name        text     NOT NULL,
    -- What it stands for, which is no name of something else.
    external_id text     NOT NULL,
    -- The rank of external_id among the names of its kind; 0 is the best, and no two of that rank are one entity.
    rank        smallint NOT NULL,

    PRIMARY KEY (provider, kind, name),
    CONSTRAINT entity_names_name_another CHECK (name <> external_id)
);

CREATE INDEX entity_names_by_entity ON entity_names (provider, kind, external_id, name);
