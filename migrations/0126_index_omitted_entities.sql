-- The index by which lists find events that left out entities. It holds only those.
--
-- Locks: nothing that readers or writers wait for. There is no transaction around the file, so each statement can be run again.

-- +goose NO TRANSACTION
-- +goose Up
SET lock_timeout = '10min';
SET statement_timeout = 0;

-- An index that was not finished is there, and serves nobody.
DROP INDEX CONCURRENTLY IF EXISTS events_omitted;
CREATE INDEX CONCURRENTLY events_omitted ON events (id) WHERE omitted IS NOT NULL;

RESET lock_timeout;
RESET statement_timeout;
