-- Automatic replay: how often it has tried a dead letter since somebody last did so by hand, and when it will again.
-- next_replay_at is null until a run of the schedule has planned the row, so that its base can be configured.
--
-- An exhausted dead letter still waits for somebody: like an open one it is the only one of its event, takes further
-- failures and is resolved by whatever rescues the event. Hence the unique index now covers it.
--
-- Locks: dead_letters against everything for an instant (the default is a constant, so no row is written), and against
-- writes while three indexes are built (a second or two for a million rows). A dead letter that is recorded meanwhile
-- waits; its activity is retried for ever.

-- +goose Up
SET LOCAL lock_timeout = '5s';

ALTER TABLE dead_letters
    ADD COLUMN auto_attempts   integer NOT NULL DEFAULT 0,
    ADD COLUMN next_replay_at timestamptz;

-- At most one row that waits an event.
CREATE UNIQUE INDEX dead_letters_one_waiting ON dead_letters (event_id)
    WHERE state IN ('open', 'replaying', 'exhausted');
DROP INDEX dead_letters_one_open;

-- What is due, and what is not planned yet (null).
CREATE INDEX dead_letters_due ON dead_letters (next_replay_at, error_class, id) WHERE state = 'open';
-- What may be exhausted.
CREATE INDEX dead_letters_retried ON dead_letters (auto_attempts, id) WHERE state = 'open' AND auto_attempts > 0;
