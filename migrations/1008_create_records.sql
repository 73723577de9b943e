-- What operators did and what they are notified of: audit log, sessions, error log, notifications, archive.
--
-- Locks: none that anyone could wait for; the tables are new.

-- +goose Up
SET LOCAL lock_timeout = '5s';

-- audit_log: one row for every change by an operator, written in the transaction of the change. It is append-only: a trigger
-- refuses to change a row, or to remove one unless the transaction says that it purges by age (SET LOCAL
-- holdfast.purge_audit_log = 'on'). That prevents mistakes; against intent, let another role than the program's own the table.
CREATE TABLE audit_log (
    id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at         timestamptz NOT NULL DEFAULT clock_timestamp(),
    actor      text        NOT NULL,
    role       text        NOT NULL,
    action     text        NOT NULL,
    object     text        NOT NULL,
    request_id text        NOT NULL,
    reason     text        NOT NULL,
    detail     jsonb,

    CONSTRAINT audit_log_actor_known CHECK (actor <> ''),
    CONSTRAINT audit_log_detail_is_object CHECK (jsonb_typeof(detail) = 'object')
);
-- Lists, newest first, and the purge by age.
CREATE INDEX audit_log_by_time ON audit_log (at, id);
CREATE INDEX audit_log_by_actor ON audit_log (actor, at, id);
CREATE INDEX audit_log_by_action ON audit_log (action, at, id);
-- Everything that was done to one object.
CREATE INDEX audit_log_by_object ON audit_log (object, at, id);

-- +goose StatementBegin
CREATE FUNCTION refuse_audit_log_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('holdfast.purge_audit_log', true) = 'on' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'audit_log is append-only' USING ERRCODE = 'insufficient_privilege';
END
$$;
-- +goose StatementEnd

CREATE TRIGGER audit_log_is_append_only BEFORE UPDATE OR DELETE ON audit_log
    FOR EACH ROW EXECUTE FUNCTION refuse_audit_log_change();
CREATE TRIGGER audit_log_is_not_truncated BEFORE TRUNCATE ON audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_log_change();

-- sessions: logins to the console. A row knows the secret of the browser's cookie by its SHA-256, and the token by its name and
-- a fingerprint: once that token is gone or replaced, the session is void. Roles aren't stored, since each request asks what
-- the token may do now. Rows are removed at logout, when they expire, and beyond the latest 100 of a token.
CREATE TABLE sessions (
    id          bytea       PRIMARY KEY,
    token       text        NOT NULL,
    fingerprint bytea       NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at  timestamptz NOT NULL
);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);
CREATE INDEX sessions_by_token ON sessions (token, expires_at);

-- error_log: errors of every phase, also those that a retry resolved. It is written on a best-effort basis, never in the
-- transaction of a step. Equal errors of a storm share a row: count says how many.
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
    -- Operators must be notified of this row and haven't been yet.
    alert_pending boolean     NOT NULL DEFAULT false,

    CONSTRAINT error_log_count_is_positive CHECK (count > 0),
    CONSTRAINT error_log_meta_is_object CHECK (jsonb_typeof(meta) = 'object'),
    CONSTRAINT error_log_class_known CHECK (error_class IN ('transient', 'rejected', 'failed', 'in_doubt', 'conflict')),
    CONSTRAINT error_log_phase_known
        CHECK (phase IN ('receive', 'parse', 'fetch', 'persist', 'upsert', 'dead_letter', 'replay', 'deliver', 'upkeep'))
);
-- The purge by age, and statistics of a time range.
CREATE INDEX error_log_by_time ON error_log (at);
-- Lists, newest first.
CREATE INDEX error_log_by_phase ON error_log (phase, id);
CREATE INDEX error_log_by_provider ON error_log (provider, id);
CREATE INDEX error_log_by_class ON error_log (error_class, error_code, id);
CREATE INDEX error_log_by_event ON error_log (event_id, id) WHERE event_id IS NOT NULL;
CREATE INDEX error_log_pending_alerts ON error_log (id) WHERE alert_pending;

-- notification_claims: what a message is about to report, noted before it is sent. The failures that it names count as reported
-- from then on; if no channel accepts it, or its end is unknown, the claim says what to undo. A database that can't be written
-- therefore stops messages rather than repeating them.
CREATE TABLE notification_claims (
    id              bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    claimed_at      timestamptz NOT NULL DEFAULT now(),
    -- Dead letters, and how many failures of each had been reported before.
    dead_letters    bigint[]    NOT NULL,
    notified_before integer[]   NOT NULL,
    -- Rows of the error log.
    entries         bigint[]    NOT NULL
);

-- archive_files: one row for each file of the archive, from before it is written. An expunge raises expunges of the files that
-- may hold the event, in its own transaction; the next purge removes the event from them and notes how far it has looked. A new
-- file counts as unchecked, since an event may be expunged while it is written.
CREATE TABLE archive_files (
    name     text        PRIMARY KEY,
    first_id uuid        NOT NULL,
    last_id  uuid        NOT NULL,
    lines    integer     NOT NULL,
    expunges integer     NOT NULL DEFAULT 1,
    looked   integer     NOT NULL DEFAULT 0,
    at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Since when an expunged event may be in the file, if expunges is above looked.
    due_at   timestamptz NOT NULL DEFAULT clock_timestamp()
);
-- Which files may hold an event. Files overlap little, so few begin before it and end after it.
CREATE INDEX archive_files_by_event ON archive_files (last_id, first_id);
-- Files to check; hardly ever more than a few.
CREATE INDEX archive_files_due ON archive_files (at) WHERE looked < expunges;
CREATE INDEX archive_files_by_time ON archive_files (at);
