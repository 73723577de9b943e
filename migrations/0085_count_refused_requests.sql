-- refused_minutes: how many requests to a provider's path weren't accepted, by the minute in which they came. Only counts are kept:
-- strangers send such requests, and nothing of them may fill a table. A recovery reads them, to say whether events that never
-- arrived were refused here. There is up to one row per provider and minute; a purge removes old ones.
--
-- The row without a provider says since when requests are counted.
--
-- Locks: none that anyone could wait for; the table is new.

-- +goose Up
SET LOCAL lock_timeout = '5s';

CREATE TABLE refused_minutes (
    provider text        NOT NULL,
    minute   timestamptz NOT NULL,
    requests bigint      NOT NULL,

    PRIMARY KEY (provider, minute)
);

-- For a purge.
CREATE INDEX refused_minutes_by_minute ON refused_minutes (minute) WHERE provider <> '';

INSERT INTO refused_minutes (provider, minute, requests) VALUES ('', clock_timestamp(), 0);
