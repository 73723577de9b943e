-- recoveries: one row per recovery. A recovery reads a provider's list of events in a time range, and processes the events that
-- never arrived. walk is the position in the list; it is null before the first page, and once the list has been read. The row
-- decides what the workflow does: its state, its rate and its position.
--
-- recovery_items: the missed events that a recovery has found and not yet started, in the order of their times. The receipt and
-- the body are those of the event that would have arrived; both are empty in a dry run, which only counts. The transaction that
-- counts a started event removes its row, and a recovery that ends removes all of its rows.
--
-- recovery_marks: per provider and target, since when recovery is switched on (no walk goes back further, unless an operator
-- accepts duplicates), with which dedupe window, and the time until which everything in the provider's list is here. It has as
-- many rows as there are lists.
--
-- Locks: none that anyone could wait for; the tables are new.

-- +goose Up
SET LOCAL lock_timeout = '5s';

CREATE TABLE recoveries (
    id                text             PRIMARY KEY,
    provider          text             NOT NULL,
    target            text             NOT NULL,
    dry_run           boolean          NOT NULL,
    undelivered       boolean          NOT NULL,
    accept_duplicates boolean          NOT NULL,
    rate              double precision NOT NULL,
    state             text             NOT NULL DEFAULT 'running',
    asked_since       timestamptz,
    since             timestamptz,
    until             timestamptz,
    cut               text             NOT NULL DEFAULT '',
    walk              text,
    listed            bigint           NOT NULL DEFAULT 0,
    known             bigint           NOT NULL DEFAULT 0,
    unwanted          bigint           NOT NULL DEFAULT 0,
    unsafe            bigint           NOT NULL DEFAULT 0,
    missed            bigint           NOT NULL DEFAULT 0,
    retrying          bigint           NOT NULL DEFAULT 0,
    recovered         bigint           NOT NULL DEFAULT 0,
    arrived           bigint           NOT NULL DEFAULT 0,
    failed            bigint           NOT NULL DEFAULT 0,
    examples          jsonb            NOT NULL DEFAULT '[]',
    problem           text             NOT NULL DEFAULT '',
    retry_at          timestamptz,
    started_by        text             NOT NULL,
    started_at        timestamptz      NOT NULL DEFAULT clock_timestamp(),
    ended_at          timestamptz,

    CONSTRAINT recoveries_state_known CHECK (state IN ('running', 'paused', 'completed', 'canceled')),
    CONSTRAINT recoveries_cut_known CHECK (cut IN ('', 'reach', 'switched_on')),
    CONSTRAINT recoveries_rate_is_positive CHECK (rate > 0),
    CONSTRAINT recoveries_ended_has_time CHECK ((state IN ('running', 'paused')) = (ended_at IS NULL)),
    CONSTRAINT recoveries_have_both_ends CHECK ((since IS NULL) = (until IS NULL)),
    CONSTRAINT recoveries_walk_has_window CHECK (walk IS NULL OR since IS NOT NULL)
);

COMMENT ON COLUMN recoveries.asked_since IS 'Null: from the watermark on.';
COMMENT ON COLUMN recoveries.since IS 'Null until the first page is read.';
COMMENT ON COLUMN recoveries.cut IS 'Why since is later than what was asked for.';
COMMENT ON COLUMN recoveries.retry_at IS 'Before then the provider is not asked again.';
COMMENT ON COLUMN recoveries.retrying IS 'Part of missed: the provider may still deliver them.';

-- Lists, newest first.
CREATE INDEX recoveries_by_start ON recoveries (started_at, id);
-- One at a time for each list.
CREATE UNIQUE INDEX recoveries_one ON recoveries (provider, target) WHERE state IN ('running', 'paused');

CREATE TABLE recovery_items (
    recovery_id text        NOT NULL,
    workflow_id text        NOT NULL,
    at          timestamptz NOT NULL,
    event_id    uuid        NOT NULL,
    lane        text        NOT NULL,
    receipt     bytea       NOT NULL,
    body        bytea       NOT NULL,

    PRIMARY KEY (recovery_id, workflow_id)
);

-- Oldest first.
CREATE INDEX recovery_items_by_time ON recovery_items (recovery_id, at, workflow_id);
-- For an expunge.
CREATE INDEX recovery_items_by_event ON recovery_items (event_id);

CREATE TABLE recovery_marks (
    provider    text        NOT NULL,
    target      text        NOT NULL,
    switched_on timestamptz NOT NULL DEFAULT clock_timestamp(),
    dedupe      interval,
    watermark   timestamptz,
    walked_at   timestamptz,

    PRIMARY KEY (provider, target)
);

COMMENT ON COLUMN recovery_marks.dedupe IS 'Null: keys are kept forever.';
