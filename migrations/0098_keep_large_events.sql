-- inbox.lane 'large': the body of an event that is too large for Temporal (more than 1.5 MiB). Its workflow has only the receipt,
-- the size and the hash, and names the row by the event ID. The row stays until the event or its dead letter is stored: that
-- transaction copies the body within PostgreSQL and removes the row. No earlier release claims rows of this lane.
--
-- Locks: inbox exclusively, for a moment: NOT VALID doesn't read the rows, all of which the old constraint has checked.

-- +goose Up
SET LOCAL lock_timeout = '5s';

ALTER TABLE inbox
    DROP CONSTRAINT inbox_lane_check,
    ADD CONSTRAINT inbox_lane_check CHECK (lane IN ('overflow', 'bulk', 'copy', 'large')) NOT VALID;
