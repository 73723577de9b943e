-- accepted_events: receipts of events that Temporal accepted and that had neither a row, a dead letter, a decision nor an inbox row
-- some seconds later. If such a run is deleted, nothing else shows that the event was acknowledged. An event that is stored soon
-- has no row here. The sweep removes a row once the event is recorded, or records the dead letter of one whose run is gone.
-- checked_at is when a sweep last looked at it.
--
-- Locks: none that anyone could wait for; the table is new.

-- +goose Up
SET LOCAL lock_timeout = '5s';

CREATE TABLE accepted_events (
    event_id   uuid        PRIMARY KEY,
    run_id     text        NOT NULL,
    receipt    json        NOT NULL,
    checked_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

CREATE INDEX accepted_events_by_check ON accepted_events (checked_at, event_id);
