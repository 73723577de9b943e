-- dead_letters: events that the policies could not save, with all that is needed to understand and replay them. A
-- row stands on its own: it repeats the receipt and the raw body, because an event can die before its row in events
-- exists.
--
-- Locks: none that anyone could wait for; the table is new.

-- +goose Up
SET LOCAL lock_timeout = '5s';

CREATE TABLE dead_letters (
    id              bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_id        uuid        NOT NULL,
    provider        text        NOT NULL,
    key             text        NOT NULL,
    type            text        NOT NULL,
    receipt         json        NOT NULL,
    raw_body        bytea       NOT NULL,
    state           text        NOT NULL DEFAULT 'open',
    step            text        NOT NULL,
    error_class     text        NOT NULL,
    error_code      text        NOT NULL,
    error_message   text        NOT NULL,
    attempts        integer     NOT NULL,
    failures        integer     NOT NULL DEFAULT 1,
    first_failed_at timestamptz NOT NULL,
    last_failed_at  timestamptz NOT NULL,
    workflow_id     text        NOT NULL,
    run_id          text        NOT NULL,
    replaying_since timestamptz,
    resolved_at     timestamptz,
    resolved_run_id text,

    CONSTRAINT dead_letters_state_known
        CHECK (state IN ('open', 'replaying', 'resolved', 'exhausted', 'discarded')),
    CONSTRAINT dead_letters_class_known CHECK (error_class IN ('transient', 'rejected', 'failed')),
    CONSTRAINT dead_letters_replaying_has_start CHECK (state <> 'replaying' OR replaying_since IS NOT NULL),
    CONSTRAINT dead_letters_resolved_is_complete
        CHECK (state <> 'resolved' OR (resolved_at IS NOT NULL AND resolved_run_id IS NOT NULL))
);

-- At most one open row an event.
CREATE UNIQUE INDEX dead_letters_one_open ON dead_letters (event_id) WHERE state IN ('open', 'replaying');
-- All rows of an event: what a run has already recorded.
CREATE INDEX dead_letters_by_event ON dead_letters (event_id);
-- Lists, the last failed first.
CREATE INDEX dead_letters_by_failure ON dead_letters (last_failed_at, id);
CREATE INDEX dead_letters_by_provider ON dead_letters (provider, last_failed_at, id);
CREATE INDEX dead_letters_by_state ON dead_letters (state, provider, last_failed_at, id);
