-- rates: the rates of providers that all processes of the installation share. A row is one bucket. Its name holds the provider, the
-- sender where each has a bucket of its own, and the rate, so that a changed rate begins with a full bucket. full_at is when the
-- bucket is full again: until then the time that is left says how much of it is used. granted is what the last statement allowed.
--
-- The table is unlogged: a commit waits for no disk, and after a crash each bucket is full again. A standby does not have it until
-- it is promoted. Rows are updated in place, for which pages are left half empty. A purge removes rows of buckets that are full.
--
-- Locks: none that anyone could wait for; the table is new. Processes of the release before count for themselves.

-- +goose Up
SET LOCAL lock_timeout = '5s';

CREATE UNLOGGED TABLE rates (
    name     text             PRIMARY KEY,
    requests integer          NOT NULL,
    seconds  double precision NOT NULL,
    full_at  timestamptz      NOT NULL,
    granted  integer          NOT NULL
) WITH (
    fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0
);
