-- A failover begins a new timeline. pg_control_checkpoint() tells of it after the next checkpoint, minutes later, and until then the
-- clients of the feed took changes of the new server for those of the old one. The name of the WAL file that is being written tells
-- at once.
--
-- Where the role may not read the cluster's identifier, the timeline is still known now: there, the clients of the feed begin anew,
-- once.
--
-- Locks: the function's row in the catalogue, for a moment.

-- +goose Up
SET LOCAL lock_timeout = '5s';

-- +goose StatementBegin
DO $make$
BEGIN
    EXECUTE format($fn$
        CREATE OR REPLACE FUNCTION feed_identity() RETURNS text LANGUAGE plpgsql STABLE SET search_path = %1$I, pg_temp AS $body$
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
    -- The timeline that the server writes; 0 on a standby, which writes none.
    CREATE FUNCTION server_timeline() RETURNS bigint LANGUAGE sql VOLATILE AS $body$
        SELECT CASE WHEN pg_is_in_recovery() THEN 0
                    ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint END
    $body$;
END $make$;
-- +goose StatementEnd
