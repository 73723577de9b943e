-- event_entities: what each event did to each entity; what entities are folded from. An event may change an entity
-- more than once, hence position: the place of the change in the event.
--
-- Locks: none that anyone could wait for; the table is new.

-- +goose Up
SET LOCAL lock_timeout = '5s';

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

-- The timeline of an entity in fold order: no version before any version, then time, then event. The expression makes
-- "no version" comparable, so that a fold can read from its last snapshot on instead of from the beginning.
CREATE INDEX event_entities_timeline ON event_entities
    (provider, kind, external_id, (coalesce(version::numeric, '-Infinity')), occurred_at, event_id, position);
