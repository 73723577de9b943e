-- Events, and what identifies them: keys, contents, duplicates. Migrations begin at 1001: lower numbers belong to builds before
-- 0.9.0, and a database that has them is refused.
--
-- Locks: none that anyone could wait for; the tables are new.

-- +goose Up
SET LOCAL lock_timeout = '5s';

-- events: one row for each accepted event, whatever becomes of it. raw_body is the truth, byte for byte; payload is a
-- projection of it for queries, null if the body isn't JSON (payload_note says why). No foreign keys lead here or away: events
-- are purged by time, and a dead letter may exist before its event has a row, or without one. IDs are UUIDv7: descending IDs
-- are newest first, and the ID is the cursor of every list. Rows of up to 2.7 KB, of which three fill a page, stay in one
-- piece: compressing and cutting up smaller ones cost a quarter of a batch.
CREATE TABLE events (
    id                    uuid        PRIMARY KEY,
    provider              text        NOT NULL,
    source                text        NOT NULL,
    key                   text        NOT NULL,
    key_from              text        NOT NULL,
    type                  text        NOT NULL,
    status                text        NOT NULL,
    outcome               text,
    raw_body              bytea       NOT NULL,
    headers               jsonb       NOT NULL,
    -- What the ingress knew of the event, exactly (json, not jsonb), without the headers, which have their own column.
    receipt               json        NOT NULL,
    payload               jsonb,
    payload_note          text        NOT NULL,
    occurred_at           timestamptz NOT NULL,
    occurred_at_missing   boolean     NOT NULL,
    received_at           timestamptz NOT NULL,
    persisted_at          timestamptz NOT NULL DEFAULT now(),
    processed_at          timestamptz,
    workflow_id           text        NOT NULL,
    run_id                text        NOT NULL,
    request_id            text        NOT NULL,
    correlation_id        text        NOT NULL,
    -- The first event with the same content in 30 days; null if there is none, or if the key is certain.
    possible_duplicate_of uuid,
    -- When a run last processed an event again, as after a reset. Temporal can reset that run until its own retention ends,
    -- so a purge counts the age of the event from there.
    rerun_at              timestamptz,
    -- The entities that the event names and doesn't change, because a limit was exceeded: their number, the first of them, and
    -- the limit. Null if there are none.
    omitted               jsonb,

    CONSTRAINT events_key_from_known CHECK (key_from IN ('event', 'body_sha256', 'missing')),
    CONSTRAINT events_status_known CHECK (status IN ('persisted', 'processed', 'dead')),
    CONSTRAINT events_outcome_known CHECK (outcome IN ('processed', 'ignored')),
    CONSTRAINT events_processed_is_complete CHECK (status <> 'processed' OR (processed_at IS NOT NULL AND outcome IS NOT NULL))
) WITH (toast_tuple_target = 2700);
-- Lists, newest first.
CREATE INDEX events_by_provider ON events (provider, id);
CREATE INDEX events_by_type ON events (provider, type, id);
-- Stuck or dead events; few, since almost every event is processed.
CREATE INDEX events_unfinished ON events (status, id) WHERE status <> 'processed';
-- From Temporal to the row.
CREATE INDEX events_by_workflow ON events (workflow_id, id);
-- Finds an event of a batch by its key: a batch's workflow ID names none of its events.
CREATE INDEX events_by_batched_key ON events (provider, key, id) WHERE workflow_id LIKE 'batch/%';
CREATE INDEX events_by_source ON events (provider, source, id) WHERE source <> '';
-- Lists of events that may repeat another one.
CREATE INDEX events_possible_duplicates ON events (id) WHERE possible_duplicate_of IS NOT NULL;
-- Lists of events that left out entities.
CREATE INDEX events_omitted ON events (id) WHERE omitted IS NOT NULL;

-- idempotency_keys: the event that owns a provider's key. A row outlives the purge of its event, so that a late redelivery is
-- still a duplicate. A dead letter owns its event's key, too.
CREATE TABLE idempotency_keys (
    provider    text        NOT NULL,
    key         text        NOT NULL,
    event_id    uuid        NOT NULL,
    -- When the owner was received; its dedupe window runs from here.
    first_seen  timestamptz NOT NULL,
    -- The end of the dedupe window; null means never.
    expires_at  timestamptz,
    -- Distinguishes another event with this key from a redelivery; null if it isn't known.
    fingerprint text,

    PRIMARY KEY (provider, key)
);
CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (expires_at) WHERE expires_at IS NOT NULL;

-- conflicts: events whose key belongs to an event with other content. They count as duplicates, and nothing else remains of
-- them.
CREATE TABLE conflicts (
    id                bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
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

-- event_contents: the content of events with a guessed key, so that a later event with equal content can be marked or held.
-- Rows are removed after 31 days, and with an event that is expunged.
CREATE TABLE event_contents (
    provider    text        NOT NULL,
    content     text        NOT NULL,
    received_at timestamptz NOT NULL,
    event_id    uuid        NOT NULL,

    PRIMARY KEY (provider, content, received_at, event_id)
);
CREATE INDEX event_contents_by_time ON event_contents (received_at);
CREATE INDEX event_contents_by_event ON event_contents (event_id);

-- event_duplicates: how often an event was sent again; a duplicate leaves no other row. Each process counts in memory and adds
-- its counts every few seconds, so a flood of duplicates is one update at a time. No index has an updated column, and pages
-- have room, so an update touches no index. Rows are removed with their events.
CREATE TABLE event_duplicates (
    event_id   uuid        PRIMARY KEY,
    times      bigint      NOT NULL,
    first_seen timestamptz NOT NULL,
    last_seen  timestamptz NOT NULL,
    -- How many had other bytes and the same JSON value, such as other white space: something rewrites what the provider
    -- sends.
    rewritten  bigint      NOT NULL DEFAULT 0
) WITH (fillfactor = 70);

-- redeliveries: the IDs that the ingress gave to redeliveries which only the database recognized: those of imported events, of
-- events whose run Temporal no longer has, and of the bulk lane. The sender knows such an ID, and nothing else says which event
-- it was. Rows are removed with the events.
CREATE TABLE redeliveries (
    event_id uuid PRIMARY KEY,
    owner_id uuid NOT NULL
);

-- fetched_states: the state behind a thin event, as the provider's API had it when the event was processed. A replay, a reset
-- and a rebuild read it from here and don't call the API again. It is written once, before the event's row, and removed with
-- the event.
CREATE TABLE fetched_states (
    event_id uuid        PRIMARY KEY,
    -- When the request began.
    at       timestamptz NOT NULL,
    -- JSON as the provider wrote it; null if the provider no longer has it.
    state    bytea
);

-- accepted_events: receipts of events that Temporal accepted and that had neither a row, a dead letter, a decision nor an inbox
-- row some seconds later. If such a run is deleted, nothing else shows that the event was acknowledged. The sweep removes a row
-- once the event is recorded, or makes a dead letter if its run is gone.
CREATE TABLE accepted_events (
    event_id   uuid        PRIMARY KEY,
    run_id     text        NOT NULL,
    receipt    json        NOT NULL,
    -- When a sweep last looked at it.
    checked_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX accepted_events_by_check ON accepted_events (checked_at, event_id);

-- mapped_minutes: how many stored events changed an entity, and how many changed none although their definition has rules for
-- them, by provider and minute. A rule with a wrong path gives null, which is no error: the doctor reads these counts to say
-- so. A purge removes old rows.
CREATE TABLE mapped_minutes (
    provider text        NOT NULL,
    minute   timestamptz NOT NULL,
    mapped   bigint      NOT NULL DEFAULT 0,
    unmapped bigint      NOT NULL DEFAULT 0,

    PRIMARY KEY (provider, minute)
);
-- The counts of a day, and the purge.
CREATE INDEX mapped_minutes_by_minute ON mapped_minutes (minute);
