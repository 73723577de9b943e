-- What the ingress writes while it receives.
--
-- Locks: none that anyone could wait for; the tables are new.

-- +goose Up
SET LOCAL lock_timeout = '5s';

-- inbox: events that were acknowledged before Temporal had them, because it was unavailable or slow, or because their
-- definition says so. The lane says which: 'overflow' and 'bulk'; 'copy', a copy of an event that Temporal has and whose row
-- isn't stored yet (HOLDFAST_INGRESS_ACK=stored); 'large', the body of an event that is too large for Temporal. A row leaves
-- when its workflow is started, when a batch claims it, or, for a copy or a large body, with the transaction that stores the
-- event or its dead letter. The receipt is JSON, kept as the bytes that Temporal would have been given: json and jsonb refuse
-- some headers and deep nesting.
CREATE TABLE inbox (
    workflow_id text        NOT NULL,
    -- The order of arrival.
    seq         bigint      GENERATED ALWAYS AS IDENTITY,
    event_id    uuid        NOT NULL,
    lane        text        NOT NULL,
    provider    text        NOT NULL,
    receipt     bytea       NOT NULL,
    raw_body    bytea       NOT NULL,
    -- Whether a redelivery of a failed event is refused (redelivery: reject) and not run again.
    reject      boolean     NOT NULL,
    received_at timestamptz NOT NULL,
    -- Failed attempts to start it, the last reason, and when the next is due.
    attempts    integer     NOT NULL DEFAULT 0,
    last_error  text,
    due_at      timestamptz NOT NULL DEFAULT now(),
    -- The beginning of the event's dedupe window: one event may wait for each window of a key. What comes after a window is
    -- another event.
    dedupe_from timestamptz NOT NULL DEFAULT '-infinity',
    fingerprint text,

    PRIMARY KEY (workflow_id, dedupe_from),
    CONSTRAINT inbox_lane_check CHECK (lane IN ('overflow', 'bulk', 'copy', 'large'))
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 20000,
    autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX inbox_by_arrival ON inbox (lane, seq);

-- commit_checks: one row that an ingress updates to find out whether the database can commit, if it has committed no event for
-- some seconds and its health is asked for. A database that is read-only, or whose synchronous standby is gone, still answers
-- queries.
CREATE TABLE commit_checks (
    one boolean     PRIMARY KEY DEFAULT true CHECK (one),
    at  timestamptz NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- refused_minutes: how many requests to a provider's path weren't accepted, by minute. It holds only counts: strangers send
-- such requests, and nothing of them may fill a table. A recovery reads them, to say whether missed events were refused here. A
-- purge removes old rows; the row without a provider says since when requests are counted.
CREATE TABLE refused_minutes (
    provider text        NOT NULL,
    minute   timestamptz NOT NULL,
    requests bigint      NOT NULL,

    PRIMARY KEY (provider, minute)
);
-- The purge.
CREATE INDEX refused_minutes_by_minute ON refused_minutes (minute) WHERE provider <> '';

INSERT INTO refused_minutes (provider, minute, requests) VALUES ('', clock_timestamp(), 0);
