-- recoveries.first_missed, last_missed: the times of the first and the last event that never arrived. recoveries.refused: how many
-- requests of the provider were refused since the first of them, until the end of the recovery's window.
--
-- Locks: recoveries against everything for an instant (there is no default).

-- +goose Up
SET LOCAL lock_timeout = '5s';

ALTER TABLE recoveries
    ADD COLUMN first_missed timestamptz, ADD COLUMN last_missed timestamptz, ADD COLUMN refused bigint;

COMMENT ON COLUMN recoveries.refused IS 'Null while it is not known, or if requests were not counted yet.';
