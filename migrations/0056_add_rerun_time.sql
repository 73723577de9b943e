-- events.rerun_at: when a run last landed on an event that was processed before, as after a reset; null where none has. Temporal can
-- reset that run until its own retention ends, so a purge counts the age of an event from there.
--
-- Locks: events exclusively for a moment; the column has no default, so no row is written.

-- +goose Up
SET LOCAL lock_timeout = '5s';

ALTER TABLE events ADD COLUMN rerun_at timestamptz;
