-- idempotency_keys.fingerprint: what the owner of a key was, so that another event of that key can be told from another delivery.
-- Null where it is not on record. conflicts: those other events; they count as duplicates, and nothing else is left of them.
--
-- inbox.dedupe_from: the beginning of the dedupe window that an event falls in. One event may wait there for each window of a
-- key, not one for each key: what comes after a window is another event. The drain finds what is a duplicate across two windows.
--
-- Locks: idempotency_keys and inbox exclusively, the first for a moment, the second while its primary key is built anew: it has
-- few rows. An ingress of the release before cannot write to the inbox from then on, and answers 503 for what Temporal does not
-- take: restart it soon.

-- +goose Up
SET LOCAL lock_timeout = '5s';

ALTER TABLE idempotency_keys ADD COLUMN fingerprint text;

ALTER TABLE inbox
    ADD COLUMN dedupe_from timestamptz NOT NULL DEFAULT '-infinity',
    ADD COLUMN fingerprint text;
ALTER TABLE inbox DROP CONSTRAINT inbox_pkey, ADD PRIMARY KEY (workflow_id, dedupe_from);

CREATE TABLE conflicts (
    id                bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    provider          text        NOT NULL,
    source            text        NOT NULL,
    key               text        NOT NULL,
    type              text        NOT NULL,
    owner_id          uuid        NOT NULL,
    owner_fingerprint text        NOT NULL,
    fingerprint       text        NOT NULL,
    first_seen        timestamptz NOT NULL,
    last_seen         timestamptz NOT NULL,
    times             bigint      NOT NULL DEFAULT 1,
    -- The last one, which is counted once, however often it is tried.
    event_id          uuid        NOT NULL,

    UNIQUE (owner_id, fingerprint)
);

CREATE INDEX conflicts_by_time ON conflicts (last_seen, id);
