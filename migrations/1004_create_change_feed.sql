-- The change feed.
--
-- Locks: none that anyone could wait for; the tables are new.

-- +goose Up
SET LOCAL lock_timeout = '5s';

-- changes: the change feed of events, entities, dead letters and deliveries, one row for each statement that reports something,
-- mostly one for a transaction. The order is that of transaction IDs, and within a transaction that of seq. Readers stop before
-- the oldest open transaction, so they miss nothing that commits late, and no writer waits for another. The partitions are a
-- ring: a day writes to one of 32, and old changes are removed by TRUNCATE of their partition alone, which needs no lock on the
-- table.
CREATE TABLE changes (
    -- The day's place in the ring.
    slot  smallint    NOT NULL DEFAULT (extract(epoch FROM clock_timestamp())::bigint / 86400 % 32),
    xid   xid8        NOT NULL DEFAULT pg_current_xact_id(),
    seq   bigint      GENERATED ALWAYS AS IDENTITY,
    at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The number of items, so that a reader of a page need not read them all.
    n     integer     NOT NULL,
    items json        NOT NULL,

    PRIMARY KEY (xid, seq, slot)
) PARTITION BY LIST (slot);
-- From a time on, and what is old.
CREATE INDEX changes_by_time ON changes (at);

-- feed_identity says whose transaction IDs these are: those of a cluster, its timeline, and this table. server_timeline is the
-- timeline that the server writes, 0 on a standby; the name of the current WAL file shows a failover at once, while
-- pg_control_checkpoint() shows it after the next checkpoint. drop_changes returns about how many rows it removed. It has the
-- rights of its owner, since the program's role need not own the tables.
-- +goose StatementBegin
DO $make$
BEGIN
    FOR n IN 0..31 LOOP
        EXECUTE format('CREATE TABLE %I PARTITION OF changes FOR VALUES IN (%s)', 'changes_' || lpad(n::text, 2, '0'), n);
    END LOOP;
    CREATE FUNCTION server_timeline() RETURNS bigint LANGUAGE sql VOLATILE AS $body$
        SELECT CASE WHEN pg_is_in_recovery() THEN 0
                    ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint END
    $body$;
    EXECUTE format($fn$
        CREATE FUNCTION feed_identity() RETURNS text LANGUAGE plpgsql STABLE SET search_path = %1$I, pg_temp AS $body$
        DECLARE
            cluster text := '';
        BEGIN
            BEGIN
                SELECT system_identifier INTO cluster FROM pg_control_system();
            EXCEPTION WHEN insufficient_privilege THEN
                NULL;
            END;
            RETURN cluster || '/' || server_timeline() || '/' || 'changes'::regclass::oid;
        END $body$ $fn$, current_schema());
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
END $make$;
-- +goose StatementEnd

-- feed_head: one row with the epoch of the feed's positions. The epoch is raised when transaction IDs may begin again, as in a
-- restored dump or after a failover: identity says whose they are. Changes up to lost have been removed.
CREATE TABLE feed_head (
    one      boolean PRIMARY KEY DEFAULT true CHECK (one),
    epoch    integer NOT NULL DEFAULT 1,
    identity text    NOT NULL,
    lost     xid8    NOT NULL DEFAULT '0'
);

INSERT INTO feed_head (identity) VALUES (feed_identity());
