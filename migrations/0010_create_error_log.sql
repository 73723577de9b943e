-- error_log: what went wrong, in every phase, whether or not it was overcome afterwards. It is written best-effort and
-- after the fact, never in the transaction of a step. Equal errors of a storm share a row: count says how many.
--
-- Locks: none that anyone could wait for; the table is new.

-- +goose Up
SET LOCAL lock_timeout = '5s';

CREATE TABLE error_log (
    id            bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at            timestamptz NOT NULL,
    phase         text        NOT NULL,
    provider      text        NOT NULL,
    error_class   text        NOT NULL,
    error_code    text        NOT NULL,
    error_message text        NOT NULL,
    event_id      uuid,
    count         bigint      NOT NULL DEFAULT 1,
    meta          jsonb       NOT NULL DEFAULT '{}',
    alert_pending boolean     NOT NULL DEFAULT false,

    CONSTRAINT error_log_phase_known
        CHECK (phase IN ('receive', 'parse', 'persist', 'upsert', 'dead_letter', 'replay', 'upkeep')),
    CONSTRAINT error_log_class_known CHECK (error_class IN ('transient', 'rejected', 'failed')),
    CONSTRAINT error_log_count_is_positive CHECK (count > 0),
    CONSTRAINT error_log_meta_is_object CHECK (jsonb_typeof(meta) = 'object')
);

COMMENT ON COLUMN error_log.alert_pending IS 'Somebody is to be told of this row and has not been yet.';

-- The purge by age, and statistics over a window.
CREATE INDEX error_log_by_time ON error_log (at);
-- Lists, newest first.
CREATE INDEX error_log_by_phase ON error_log (phase, id);
CREATE INDEX error_log_by_provider ON error_log (provider, id);
CREATE INDEX error_log_by_class ON error_log (error_class, error_code, id);
CREATE INDEX error_log_by_event ON error_log (event_id, id) WHERE event_id IS NOT NULL;
CREATE INDEX error_log_pending_alerts ON error_log (id) WHERE alert_pending;
