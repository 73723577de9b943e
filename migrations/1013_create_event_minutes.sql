-- event_minutes: how many events were processed, ignored, or became dead letters, by provider and five minutes of their
-- acceptance. delivery_minutes: how many attempts of deliveries succeeded and failed, and how long they took together in
-- milliseconds, by destination and five minutes of their end. starts_at is the beginning of the five minutes. The console draws
-- charts from them: the metrics that a process keeps in memory end with it, and counting the events themselves would read all of
-- a month. A purge removes rows after 30 days.
--
-- Locks: none.

-- +goose Up
SET LOCAL lock_timeout = '5s';

CREATE TABLE event_minutes (
    provider  text        NOT NULL,
    starts_at timestamptz NOT NULL,
    processed bigint      NOT NULL,
    ignored   bigint      NOT NULL,
    dead      bigint      NOT NULL,

    PRIMARY KEY (provider, starts_at)
);
-- The counts of all providers, and the purge.
CREATE INDEX event_minutes_by_start ON event_minutes (starts_at);

CREATE TABLE delivery_minutes (
    destination_id bigint      NOT NULL,
    starts_at      timestamptz NOT NULL,
    succeeded      bigint      NOT NULL,
    failed         bigint      NOT NULL,
    ms             bigint      NOT NULL,

    PRIMARY KEY (destination_id, starts_at)
);
-- The purge.
CREATE INDEX delivery_minutes_by_start ON delivery_minutes (starts_at);
