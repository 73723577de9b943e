-- sweep_marks: one row, which each sweep replaces; the sweep's result in Temporal has the same counter. Whichever store has
-- the lower one was set back, by a failover or a restore. The WAL is one sequence: if a mark has survived, so has every commit
-- before it, and what may be missing was committed after its time.
--
-- It must be a logged table, and its row must not be copied by hand.
--
-- Locks: none that anyone could wait for; the table is new.

-- +goose Up
SET LOCAL lock_timeout = '5s';

CREATE TABLE sweep_marks (
    one     boolean     PRIMARY KEY DEFAULT true CHECK (one),
    counter bigint      NOT NULL,
    at      timestamptz NOT NULL
);
