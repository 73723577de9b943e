-- fetched_states: the state of what an event names, as the provider's API had it when the event was processed. A replay, a reset
-- and a rebuild read it from here and don't call the API again. It is written before the event's row, once, and is removed with
-- the event. state is JSON as the provider wrote it; null if the provider no longer has it.
--
-- A state that can't be fetched is in the error log under a phase of its own.
--
-- Locks: the new table has none. The constraint of error_log is replaced without a scan, in a moment.

-- +goose Up
SET LOCAL lock_timeout = '5s';

CREATE TABLE fetched_states (
    event_id uuid        PRIMARY KEY,
    at       timestamptz NOT NULL,
    state    bytea
);

COMMENT ON COLUMN fetched_states.at IS 'When the request began.';

ALTER TABLE error_log DROP CONSTRAINT error_log_phase_known;
ALTER TABLE error_log ADD CONSTRAINT error_log_phase_known
    CHECK (phase IN ('receive', 'parse', 'fetch', 'persist', 'upsert', 'dead_letter', 'replay', 'deliver', 'upkeep')) NOT VALID;
