-- audit_log: one row for every change that an operator makes, written in the transaction of that change. It is
-- append-only: a trigger refuses to change a row, and to remove one unless the transaction has said that it purges by
-- age (SET LOCAL holdfast.purge_audit_log = 'on'). That stops mistakes; what stops intent is that the owner of the
-- table is not the role that the program logs in as.
--
-- Locks: none that anyone could wait for; the table is new.

-- +goose Up
SET LOCAL lock_timeout = '5s';

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
-- All that was done to one thing.
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
