-- imports: one row an import, which is what its workflow obeys: state says whether it goes on. import_rows is what it has to apply, in
-- the order of its file; a page that is applied removes its rows in the same transaction, so what is there is what is left. Rows are
-- kept before their import has a row, since a file is read to its end before anything of it is applied. Who reads a file and dies
-- leaves rows without an import; the next one that is made removes those that are a day old.
--
-- item is JSON, kept as bytes like a receipt of the inbox: json and jsonb refuse what a header may hold.
--
-- Locks: none that anyone could wait for; the tables are new.

-- +goose Up
SET LOCAL lock_timeout = '5s';

CREATE TABLE imports (
    id         text             PRIMARY KEY,
    name       text             NOT NULL,
    rate       double precision NOT NULL,
    state      text             NOT NULL DEFAULT 'running',
    total      bigint           NOT NULL,
    read       bigint           NOT NULL DEFAULT 0,
    counts     jsonb            NOT NULL DEFAULT '{}',
    problems   jsonb            NOT NULL DEFAULT '[]',
    started_by text             NOT NULL,
    started_at timestamptz      NOT NULL DEFAULT clock_timestamp(),
    ended_at   timestamptz,

    CONSTRAINT imports_state_known CHECK (state IN ('running', 'paused', 'completed', 'canceled')),
    CONSTRAINT imports_rate_is_positive CHECK (rate > 0),
    CONSTRAINT imports_ended_has_time CHECK ((state IN ('running', 'paused')) = (ended_at IS NULL))
);

-- Lists, newest first.
CREATE INDEX imports_by_start ON imports (started_at, id);
-- Those that need a workflow; hardly ever more than one.
CREATE INDEX imports_active ON imports (id) WHERE state IN ('running', 'paused');

CREATE TABLE import_rows (
    import_id text   NOT NULL,
    seq       bigint NOT NULL,
    item      bytea  NOT NULL,
    body      bytea  NOT NULL,

    PRIMARY KEY (import_id, seq)
);
