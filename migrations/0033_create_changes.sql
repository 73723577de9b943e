-- What happened to events, entities, dead letters and deliveries, for whoever follows: one row a statement that tells, mostly one
-- a transaction. The order is that of transactions' IDs; within one, that of seq. Who reads stops before the oldest transaction
-- that has not ended, so nothing is missed that commits late, and no writer waits for another.
--
-- The partitions are a ring: a day writes to one of 32, and what is old enough goes by TRUNCATE of its partition alone. Neither
-- that nor a new day needs a lock on the table, for which every writer would have to wait.
--
-- feed_head is one row. Places in the feed are of an epoch. That is raised when the transactions' IDs may begin anew, as they do
-- in a restored dump or after a failover: the row knows whose they are. Changes up to "lost" have been removed.
--
-- An entity has a revision, which rises by 1 with each change of its row, under its lock. Of one that is made it is the time in
-- microseconds, so that it rises also where an entity goes and comes again.
--
-- Dead letters tell by a trigger, since a score of statements open, take, close and release them.
--
-- Locks: entities and dead_letters against everything for an instant (the default is a constant; a trigger). The rest is new.

-- +goose Up
SET LOCAL lock_timeout = '5s';

CREATE TABLE changes (
    -- The day, counted on and on in the ring.
    slot  smallint    NOT NULL DEFAULT (extract(epoch FROM clock_timestamp())::bigint / 86400 % 32),
    xid   xid8        NOT NULL DEFAULT pg_current_xact_id(),
    seq   bigint      GENERATED ALWAYS AS IDENTITY,
    at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- How many items there are, so that who reads a page need not read them all.
    n     integer     NOT NULL,
    items json        NOT NULL,

    PRIMARY KEY (xid, seq, slot)
) PARTITION BY LIST (slot);
-- From a time on, and what is old.
CREATE INDEX changes_by_time ON changes (at);

ALTER TABLE entities ADD COLUMN revision bigint NOT NULL DEFAULT 0;

-- +goose StatementBegin
DO $make$
BEGIN
    FOR n IN 0..31 LOOP
        EXECUTE format('CREATE TABLE %I PARTITION OF changes FOR VALUES IN (%s)', 'changes_' || lpad(n::text, 2, '0'), n);
    END LOOP;
    -- Whose IDs of transactions these are: of a cluster and its timeline, and of this table in it.
    EXECUTE format($fn$
        CREATE FUNCTION feed_identity() RETURNS text LANGUAGE plpgsql STABLE SET search_path = %1$I, pg_temp AS $body$
        DECLARE
            place text;
        BEGIN
            BEGIN
                SELECT s.system_identifier || '/' || c.timeline_id INTO place
                  FROM pg_control_system() AS s, pg_control_checkpoint() AS c;
            EXCEPTION WHEN insufficient_privilege THEN
                place := '';
            END;
            RETURN place || '/' || 'changes'::regclass::oid;
        END $body$ $fn$, current_schema());
    -- Gives about how many rows have gone. It has the rights of its owner, since whoever works on a table need not own it.
    EXECUTE format($fn$
        CREATE FUNCTION drop_changes(before timestamptz) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
        SET search_path = %1$I, pg_temp SET lock_timeout = '1s' AS $body$
        DECLARE
            part record; newest timestamptz; last xid8; dropped bigint := 0;
        BEGIN
            IF NOT has_table_privilege(session_user, 'changes', 'DELETE') THEN
                RAISE insufficient_privilege USING MESSAGE = 'changes may not be removed by this role';
            END IF;
            FOR part IN
                SELECT c.relname, greatest(c.reltuples, 1)::bigint AS tuples
                  FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
                 WHERE i.inhparent = 'changes'::regclass ORDER BY c.relname
            LOOP
                EXECUTE format('SELECT max(at) FROM %%I', part.relname) INTO newest;
                CONTINUE WHEN newest IS NULL OR newest >= before;
                EXECUTE format('LOCK TABLE %%I IN ACCESS EXCLUSIVE MODE', part.relname);
                EXECUTE format('SELECT xid FROM %%I ORDER BY xid DESC LIMIT 1', part.relname) INTO last;
                EXECUTE format('TRUNCATE %%I', part.relname);
                UPDATE feed_head SET lost = greatest(lost, last) WHERE one;
                dropped := dropped + part.tuples;
            END LOOP;
            RETURN dropped;
        END $body$ $fn$, current_schema());
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

CREATE TABLE feed_head (
    one      boolean PRIMARY KEY DEFAULT true CHECK (one),
    epoch    integer NOT NULL DEFAULT 1,
    identity text    NOT NULL,
    lost     xid8    NOT NULL DEFAULT '0'
);
INSERT INTO feed_head (identity) VALUES (feed_identity());

CREATE TRIGGER dead_letters_tell_insert AFTER INSERT ON dead_letters
    FOR EACH ROW EXECUTE FUNCTION tell_dead_letter();
CREATE TRIGGER dead_letters_tell_update AFTER UPDATE ON dead_letters
    FOR EACH ROW WHEN (OLD.state <> NEW.state OR OLD.failures <> NEW.failures) EXECUTE FUNCTION tell_dead_letter();
