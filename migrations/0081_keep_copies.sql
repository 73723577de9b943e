-- inbox.lane 'copy': a copy of an event whose run Temporal has confirmed and whose row isn't stored yet. With
-- HOLDFAST_INGRESS_ACK=stored the sender gets its 2xx once both exist. The transaction that stores the event removes its copy.
--
-- Locks: inbox exclusively, for a moment: NOT VALID doesn't read the rows, all of which the old constraint has checked.

-- +goose Up
SET LOCAL lock_timeout = '5s';

ALTER TABLE inbox
    DROP CONSTRAINT inbox_lane_check,
    ADD CONSTRAINT inbox_lane_check CHECK (lane IN ('overflow', 'bulk', 'copy')) NOT VALID;
