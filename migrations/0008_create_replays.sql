-- replays: one row a bulk replay, which is what its workflow obeys: state says whether it goes on, cursor how far it
-- has come. What it has taken on is fixed when it is made: the dead letters up to bound that match the filter. While it
-- is not settled, done and failed are counted from the dead letters that bear its ID; when it is, they are written down.
--
-- dead_letters.replay_id is who has taken the row last: a bulk replay, a run of the schedule, or one replay by hand.
-- replaying_run_id is the run that was started; a row that is replaying without one was taken by somebody who has
-- stopped since, or is about to start it.
--
-- Locks: dead_letters against everything while two columns without a default are added (an instant), and against writes
-- while two indexes are built (about a second for a million rows). A dead letter that is recorded meanwhile waits; its
-- activity is retried for ever.

-- +goose Up
SET LOCAL lock_timeout = '5s';

CREATE TABLE replays (
    id         text             PRIMARY KEY,
    filter     jsonb            NOT NULL,
    rate       double precision NOT NULL,
    state      text             NOT NULL DEFAULT 'running',
    bound      bigint           NOT NULL,
    cursor     bigint           NOT NULL DEFAULT 0,
    total      bigint           NOT NULL,
    done       bigint,
    failed     bigint,
    skipped    bigint           NOT NULL DEFAULT 0,
    started_by text             NOT NULL,
    started_at timestamptz      NOT NULL DEFAULT clock_timestamp(),
    drained_at timestamptz,
    ended_at   timestamptz,
    settled_at timestamptz,

    CONSTRAINT replays_state_known CHECK (state IN ('running', 'paused', 'completed', 'canceled')),
    CONSTRAINT replays_rate_is_positive CHECK (rate > 0),
    CONSTRAINT replays_ended_has_time CHECK ((state IN ('running', 'paused')) = (ended_at IS NULL)),
    CONSTRAINT replays_settled_is_complete
        CHECK (settled_at IS NULL OR (ended_at IS NOT NULL AND done IS NOT NULL AND failed IS NOT NULL))
);

COMMENT ON COLUMN replays.drained_at IS 'When nothing was left to start; runs may still be open.';
COMMENT ON COLUMN replays.settled_at IS 'When the last run that it had started was at its end.';

-- Lists, newest first.
CREATE INDEX replays_by_start ON replays (started_at, id);
-- Those that still need a workflow; hardly ever more than a few.
CREATE INDEX replays_unsettled ON replays (id) WHERE settled_at IS NULL;

ALTER TABLE dead_letters
    ADD COLUMN replay_id       text,
    ADD COLUMN replaying_run_id text;

-- A replay's way through the dead letters that wait, in the order in which they came.
CREATE INDEX dead_letters_waiting ON dead_letters (id) WHERE state IN ('open', 'exhausted');
-- What became of those that a replay has taken.
CREATE INDEX dead_letters_by_replay ON dead_letters (replay_id, state, id) WHERE replay_id IS NOT NULL;
