-- inbox: events that were acknowledged before Temporal had them, because it was away, too slow or too busy, or because their
-- definition says so (lane: bulk). A row leaves in one of two ways: its workflow is started, or a batch takes it.
--
-- The workflow ID is the primary key, so that the same event is here once, however often it was sent. The receipt is JSON, kept
-- as the bytes that Temporal would have been given: json and jsonb refuse what a header may hold and what nests too deep.
--
-- Locks: none that anything waits for; the table is new.

-- +goose Up
SET LOCAL lock_timeout = '5s';

CREATE TABLE inbox (
    workflow_id text PRIMARY KEY,
    -- The order of arrival.
    seq         bigint GENERATED ALWAYS AS IDENTITY,
    event_id    uuid NOT NULL,
    lane        text NOT NULL CHECK (lane IN ('overflow', 'bulk')),
    provider    text NOT NULL,
    receipt     bytea NOT NULL,
    raw_body    bytea NOT NULL,
    -- Whether a redelivery of a failed event is refused (redelivery: reject) and not run again.
    reject      boolean NOT NULL,
    received_at timestamptz NOT NULL,
    -- Failed attempts to start it, the last reason, and when the next is due.
    attempts    integer NOT NULL DEFAULT 0,
    last_error  text,
    due_at      timestamptz NOT NULL DEFAULT now()
) WITH (
    -- Rows come and go by the thousand: vacuum by number, not by share.
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 20000,
    autovacuum_vacuum_cost_delay = 0
);

CREATE INDEX inbox_by_arrival ON inbox (lane, seq);
