-- rebuilds: one row a rebuild of entities, which is what its workflow obeys: state says whether it goes on, cursor how far it has come.
-- What it reads is fixed when it is made: the events from first_id to last_id that match its filter. At any time, one of them works.
--
-- rebuild_entities: the entities that the latest rebuild has found to differ. So each counts once, in however many events it differs. Of
-- a dry run, events are the first that differ, for whoever wants to see what would become of the entity. The pages of the
-- next rebuild remove them.
--
-- Locks: none that anyone could wait for; the tables are new.

-- +goose Up
SET LOCAL lock_timeout = '5s';

CREATE TABLE rebuilds (
    id         text             PRIMARY KEY,
    provider   text             NOT NULL,
    kind       text             NOT NULL,
    dry_run    boolean          NOT NULL,
    rate       double precision NOT NULL,
    state      text             NOT NULL DEFAULT 'running',
    first_id   uuid,
    last_id    uuid,
    cursor     uuid,
    read       bigint           NOT NULL DEFAULT 0,
    changed    bigint           NOT NULL DEFAULT 0,
    unreadable bigint           NOT NULL DEFAULT 0,
    skipped    bigint           NOT NULL DEFAULT 0,
    entities   bigint           NOT NULL DEFAULT 0,
    problems   jsonb            NOT NULL DEFAULT '[]',
    started_by text             NOT NULL,
    started_at timestamptz      NOT NULL DEFAULT clock_timestamp(),
    ended_at   timestamptz,

    CONSTRAINT rebuilds_state_known CHECK (state IN ('running', 'paused', 'completed', 'canceled')),
    CONSTRAINT rebuilds_rate_is_positive CHECK (rate > 0),
    CONSTRAINT rebuilds_ended_has_time CHECK ((state IN ('running', 'paused')) = (ended_at IS NULL)),
    CONSTRAINT rebuilds_have_both_ends CHECK ((first_id IS NULL) = (last_id IS NULL))
);

COMMENT ON COLUMN rebuilds.provider IS 'The filter; empty does not restrict.';
COMMENT ON COLUMN rebuilds.kind IS 'The filter; empty does not restrict.';
COMMENT ON COLUMN rebuilds.first_id IS 'The first event to read; null where there was none.';

-- Lists, newest first.
CREATE INDEX rebuilds_by_start ON rebuilds (started_at, id);
-- One at a time.
CREATE UNIQUE INDEX rebuilds_one ON rebuilds ((true)) WHERE state IN ('running', 'paused');

CREATE TABLE rebuild_entities (
    rebuild_id  text   NOT NULL,
    provider    text   NOT NULL,
    kind        text   NOT NULL,
    external_id text   NOT NULL,
    events      uuid[] NOT NULL,

    PRIMARY KEY (rebuild_id, provider, kind, external_id)
);
