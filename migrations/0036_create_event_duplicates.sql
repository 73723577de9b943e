-- event_duplicates: how often an event came again, first and last, which nothing else keeps: a duplicate leaves no row. Each
-- process counts in memory and adds what it has counted every few seconds, so a flood of duplicates of one event is one update of
-- one row each time. No index holds what is updated, and pages have room, so that such an update touches no index.
--
-- An event that nothing was ever repeated of has no row. Rows go with their events.
--
-- Locks: none that anyone could wait for; the table is new.

-- +goose Up
SET LOCAL lock_timeout = '5s';

CREATE TABLE event_duplicates (
    event_id   uuid        PRIMARY KEY,
    times      bigint      NOT NULL,
    first_seen timestamptz NOT NULL,
    last_seen  timestamptz NOT NULL
) WITH (fillfactor = 70);
