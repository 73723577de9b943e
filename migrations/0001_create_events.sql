-- events: one row an accepted event, whatever becomes of it. raw_body is the truth, byte for byte; payload is a
-- projection of it for queries, null where the body is no JSON (payload_note says why). There are no foreign keys
-- to or from this table: events are purged by time, and dead letters may be written before, or without, a row here.
--
-- IDs are UUIDv7, so that descending id is newest first and one column is the cursor of every list.
--
-- Locks: none that anyone could wait for; the table is new.

-- +goose Up
SET LOCAL lock_timeout = '5s';

CREATE TABLE events (
    id                  uuid        PRIMARY KEY,
    provider            text        NOT NULL,
    source              text        NOT NULL,
    key                 text        NOT NULL,
    key_from            text        NOT NULL,
    type                text        NOT NULL,
    status              text        NOT NULL,
    outcome             text,
    raw_body            bytea       NOT NULL,
    headers             jsonb       NOT NULL,
    receipt             json        NOT NULL,
    payload             jsonb,
    payload_note        text        NOT NULL,
    occurred_at         timestamptz NOT NULL,
    occurred_at_missing boolean     NOT NULL,
    received_at         timestamptz NOT NULL,
    persisted_at        timestamptz NOT NULL DEFAULT now(),
    processed_at        timestamptz,
    workflow_id         text        NOT NULL,
    run_id              text        NOT NULL,
    request_id          text        NOT NULL,
    correlation_id      text        NOT NULL,

    CONSTRAINT events_key_from_known CHECK (key_from IN ('event', 'body_sha256', 'missing')),
    CONSTRAINT events_status_known CHECK (status IN ('persisted', 'processed', 'dead')),
    CONSTRAINT events_outcome_known CHECK (outcome IN ('processed', 'ignored')),
    CONSTRAINT events_processed_is_complete
        CHECK (status <> 'processed' OR (processed_at IS NOT NULL AND outcome IS NOT NULL))
);

COMMENT ON COLUMN events.receipt IS
    'What the ingress knew of the event, exactly (json, not jsonb), without the headers, which have their own column.';

-- Lists, newest first.
CREATE INDEX events_by_provider ON events (provider, id);
CREATE INDEX events_by_type ON events (provider, type, id);
-- What is stuck or dead; small, since almost every event is processed.
CREATE INDEX events_unfinished ON events (status, id) WHERE status <> 'processed';
-- From Temporal Web to the row.
CREATE INDEX events_by_workflow ON events (workflow_id, id);
