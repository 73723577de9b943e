-- Dead letters, and operators' decisions about events.
--
-- Locks: none that anyone could wait for; the tables are new.

-- +goose Up
SET LOCAL lock_timeout = '5s';

-- dead_letters: events that the retry policies could not save, with everything that is needed to understand and replay them. A
-- row repeats the receipt and the raw body, because an event can die before it has a row in events.
CREATE TABLE dead_letters (
    id                bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_id          uuid        NOT NULL,
    provider          text        NOT NULL,
    key               text        NOT NULL,
    type              text        NOT NULL,
    receipt           json        NOT NULL,
    raw_body          bytea       NOT NULL,
    state             text        NOT NULL DEFAULT 'open',
    step              text        NOT NULL,
    error_class       text        NOT NULL,
    error_code        text        NOT NULL,
    error_message     text        NOT NULL,
    attempts          integer     NOT NULL,
    failures          integer     NOT NULL DEFAULT 1,
    first_failed_at   timestamptz NOT NULL,
    last_failed_at    timestamptz NOT NULL,
    workflow_id       text        NOT NULL,
    run_id            text        NOT NULL,
    replaying_since   timestamptz,
    resolved_at       timestamptz,
    resolved_run_id   text,
    discarded_at      timestamptz,
    discarded_by      text,
    discard_reason    text,
    -- The event that an edit made of this one, whose receipt names this one.
    replaced_by       uuid,
    -- What claimed the row last: a bulk replay, a run of the schedule, or a replay of this one.
    replay_id         text,
    -- The run that was started. Null while replaying: whoever claimed the row is about to start it, or has stopped since.
    replaying_run_id  text,
    -- How often automatic replay has tried since an operator last did. Exhausted rows still wait for an operator.
    auto_attempts     integer     NOT NULL DEFAULT 0,
    -- When automatic replay tries next; null until the schedule has planned the row.
    next_replay_at    timestamptz,
    -- How many of its failures have been reported. The others are reported once, however often a notification is tried.
    notified_failures integer     NOT NULL DEFAULT 0,
    -- The bytes of an inbox receipt that this version couldn't read: a newer version wrote it before a rollback, or an
    -- operator did by hand.
    unread_receipt    bytea,
    -- The sender within the provider, such as an account.
    source            text        NOT NULL DEFAULT '',
    -- Of a dead letter of step deliver; 0 for those of an event.
    subscription_id   bigint      NOT NULL DEFAULT 0,
    -- The field of the definition that couldn't be evaluated, as entities[0].id: distinguishes causes with equal codes.
    rule              text        NOT NULL DEFAULT '',
    -- The event that made the dead letter needless, because it has the same key and content. Null if the event itself was
    -- processed.
    duplicate_of      uuid,

    CONSTRAINT dead_letters_state_known CHECK (state IN ('open', 'replaying', 'resolved', 'exhausted', 'discarded')),
    CONSTRAINT dead_letters_replaying_has_start CHECK (state <> 'replaying' OR replaying_since IS NOT NULL),
    CONSTRAINT dead_letters_resolved_is_complete
        CHECK (state <> 'resolved' OR (resolved_at IS NOT NULL AND resolved_run_id IS NOT NULL)),
    CONSTRAINT dead_letters_discarded_is_complete
        CHECK (state <> 'discarded' OR (discarded_at IS NOT NULL AND discard_reason <> '')),
    CONSTRAINT dead_letters_replaced_is_discarded CHECK (replaced_by IS NULL OR discarded_at IS NOT NULL),
    CONSTRAINT dead_letters_class_known CHECK (error_class IN ('transient', 'rejected', 'failed', 'in_doubt', 'conflict'))
);
-- All rows of an event: what a run has already recorded.
CREATE INDEX dead_letters_by_event ON dead_letters (event_id);
-- Lists, the last failed first.
CREATE INDEX dead_letters_by_failure ON dead_letters (last_failed_at, id);
CREATE INDEX dead_letters_by_provider ON dead_letters (provider, last_failed_at, id);
CREATE INDEX dead_letters_by_state ON dead_letters (state, provider, last_failed_at, id);
CREATE INDEX dead_letters_by_state_only ON dead_letters (state, last_failed_at, id);
CREATE INDEX dead_letters_by_class ON dead_letters (error_class, last_failed_at, id);
CREATE INDEX dead_letters_by_code ON dead_letters (error_code, last_failed_at, id);
CREATE INDEX dead_letters_by_type ON dead_letters (type, last_failed_at, id);
CREATE INDEX dead_letters_by_workflow ON dead_letters (workflow_id, last_failed_at, id);
-- The purge of closed rows, by age.
CREATE INDEX dead_letters_closed ON dead_letters
    ((coalesce(resolved_at, discarded_at)), id)
    WHERE state IN ('resolved', 'discarded');
-- A replay's way through waiting dead letters, in the order in which they were recorded.
CREATE INDEX dead_letters_waiting ON dead_letters (id) WHERE state IN ('open', 'exhausted');
-- The results of a replay.
CREATE INDEX dead_letters_by_replay ON dead_letters (replay_id, state, id) WHERE replay_id IS NOT NULL;
-- Due automatic replays, and those that aren't planned yet (null).
CREATE INDEX dead_letters_due ON dead_letters (next_replay_at, error_class, id) WHERE state = 'open';
-- Rows that may be exhausted.
CREATE INDEX dead_letters_retried ON dead_letters (auto_attempts, id) WHERE state = 'open' AND auto_attempts > 0;
-- Failures that aren't reported yet.
CREATE INDEX dead_letters_to_notify ON dead_letters (id) WHERE notified_failures < failures AND state IN ('open', 'exhausted');
CREATE INDEX dead_letters_by_source ON dead_letters (provider, source, last_failed_at, id) WHERE source <> '';
-- Each event, and each of its subscriptions, has one waiting row at most.
CREATE UNIQUE INDEX dead_letters_one_waiting_each ON dead_letters
    (event_id, subscription_id)
    WHERE state IN ('open', 'replaying', 'exhausted');
-- Rows of a subscription that is deleted.
CREATE INDEX dead_letters_of_subscriptions ON dead_letters
    (subscription_id, id)
    WHERE subscription_id > 0 AND state IN ('open', 'replaying', 'exhausted');
-- Groups waiting rows by cause, and plans the replay of a cause, without reading the rows, which hold bodies.
CREATE INDEX dead_letters_by_cause_of_each ON dead_letters
    (provider, step, error_class, error_code, rule, subscription_id, state)
    INCLUDE (first_failed_at, last_failed_at, id, replay_id)
    WHERE state IN ('open', 'replaying', 'exhausted');

-- A trigger adds changes of dead letters to the feed, since many statements open, claim, close and release them.
-- +goose StatementBegin
DO $make$
BEGIN
    EXECUTE format($fn$
        CREATE FUNCTION tell_dead_letter() RETURNS trigger LANGUAGE plpgsql SET search_path = %1$I, pg_temp AS $body$
        DECLARE
            action text := CASE NEW.state WHEN 'open' THEN 'opened' ELSE NEW.state END;
        BEGIN
            IF TG_OP = 'UPDATE' AND NEW.state = 'open' THEN
                action := CASE WHEN NEW.failures > OLD.failures THEN 'failed' WHEN OLD.state = 'discarded' THEN 'reopened'
                               ELSE 'released' END;
            END IF;
            INSERT INTO changes (n, items)
            SELECT 1, json_build_array(json_strip_nulls(json_build_object(
                   'subject', 'dead_letter', 'action', action, 'provider', NEW.provider, 'kind', NEW.type, 'id', NEW.id::text,
                   'event_id', NEW.event_id, 'subscription_id', nullif(NEW.subscription_id, 0), 'code', NEW.error_code)));
            RETURN NULL;
        END $body$ $fn$, current_schema());
END $make$;
-- +goose StatementEnd

CREATE TRIGGER dead_letters_tell_insert AFTER INSERT ON dead_letters
    FOR EACH ROW EXECUTE FUNCTION tell_dead_letter();
CREATE TRIGGER dead_letters_tell_update AFTER UPDATE ON dead_letters
    FOR EACH ROW WHEN (OLD.state <> NEW.state OR OLD.failures <> NEW.failures) EXECUTE FUNCTION tell_dead_letter();

-- decisions: what operators decided permanently about events. Discarded dead letters are purged, keys expire, and Temporal
-- forgets; a reset, a redelivery or a replay must not undo the decision even then. The writer reads this table before it
-- writes. There are few rows, and they are kept forever.
CREATE TABLE decisions (
    event_id    uuid        PRIMARY KEY,
    decision    text        NOT NULL,
    at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    by          text        NOT NULL,
    reason      text        NOT NULL,
    replaced_by uuid,

    CONSTRAINT decisions_decision_known CHECK (decision IN ('discarded', 'replaced', 'expunged')),
    CONSTRAINT decisions_replaced_is_complete CHECK ((decision = 'replaced') = (replaced_by IS NOT NULL))
);
