-- event_types: the declared types of published events. declared is json and not jsonb, which would change a schema's numbers.
-- event_types_head has one row, whose revision each change replaces first: the changes commit one after the other, and a process
-- whose types are of another revision reads them again. A random revision is right after a failover or a restore, too.
--
-- A release that doesn't have them neither reads nor writes these tables.
--
-- Locks: none.

-- +goose Up
SET LOCAL lock_timeout = '5s';

CREATE TABLE event_types (
    name       text COLLATE "C" PRIMARY KEY,
    declared   json             NOT NULL,
    changed_at timestamptz      NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE event_types_head (
    one      boolean PRIMARY KEY DEFAULT true CHECK (one),
    revision uuid    NOT NULL DEFAULT gen_random_uuid()
);

INSERT INTO event_types_head DEFAULT VALUES;
