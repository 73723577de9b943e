-- mapped_minutes: how many stored events changed an entity, and how many changed none although their definition has rules for them,
-- by provider and minute. A rule whose path is wrong gives null, which is no error: the doctor reads these counts to say so. There is
-- up to one row per provider and minute; a purge removes old ones.
--
-- Locks: none that anyone could wait for; the table is new.

-- +goose Up
SET LOCAL lock_timeout = '5s';

CREATE TABLE mapped_minutes (
    provider text        NOT NULL,
    minute   timestamptz NOT NULL,
    mapped   bigint      NOT NULL DEFAULT 0,
    unmapped bigint      NOT NULL DEFAULT 0,

    PRIMARY KEY (provider, minute)
);

-- For the counts of a day, and for a purge.
CREATE INDEX mapped_minutes_by_minute ON mapped_minutes (minute);
