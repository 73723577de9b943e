-- observed_fields: which fields the events of a type have, of which JSON types and how often, and what has changed lately. It has
-- the names of fields, counts, and digests of 32 bits with a salt of the row; no values. shape is json of package event/shape.
-- last_event is the newest event that was observed. breaks_until is until when a change counts as open at a path that the
-- definition reads; null if there is none. Types without an event for 90 days are purged. A provider has at most 500 types.
--
-- Locks: none.

-- +goose Up
SET LOCAL lock_timeout = '5s';

CREATE TABLE observed_fields (
    provider     text        NOT NULL,
    type         text        NOT NULL,
    last_event   uuid        NOT NULL,
    observed_at  timestamptz NOT NULL,
    shape        json        NOT NULL,
    breaks_until timestamptz,

    PRIMARY KEY (provider, type)
);
-- The purge.
CREATE INDEX observed_fields_by_age ON observed_fields (observed_at);
-- Alerts: few rows, mostly none.
CREATE INDEX observed_fields_breaking ON observed_fields (breaks_until) WHERE breaks_until IS NOT NULL;
