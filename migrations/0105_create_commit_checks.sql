-- commit_checks: one row that an ingress updates to find out whether the database can commit, if it has committed no event for some
-- seconds and its health is asked for. A database that is read-only, or whose synchronous standby is gone, still answers questions.
--
-- Locks: none that anyone could wait for; the table is new.

-- +goose Up
SET LOCAL lock_timeout = '5s';

CREATE TABLE commit_checks (
    one boolean     PRIMARY KEY DEFAULT true CHECK (one),
    at  timestamptz NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
