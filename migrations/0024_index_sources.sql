-- dead_letters.source, and indexes of it: the sender within a provider that an event came from (an instance, an account), by
-- which operators list and replay. events had the column already. Dead letters that were there before take it from their
-- receipt; those whose source is no plain text keep none.
--
-- Locks: dead_letters against everything while the column is added (an instant: its default is a constant). The indexes are
-- built beside readers and writers, and hold only rows that have a source. There is no transaction around the file, so each
-- statement can be run again.

-- +goose NO TRANSACTION
-- +goose Up
SET lock_timeout = '5s';
SET statement_timeout = 0;

ALTER TABLE dead_letters ADD COLUMN IF NOT EXISTS source text NOT NULL DEFAULT '';

UPDATE dead_letters AS d SET source = ('"' || old.source || '"')::json #>> '{}'
  FROM (SELECT id, substring(receipt::text
               FROM '^\{"id":"[^"]*","provider":"[^"]*","source":"((?:[^"\\]|\\.)*)"') AS source
          FROM dead_letters WHERE source = '') AS old
 WHERE d.id = old.id AND old.source !~ '\\u(0000|[dD][89a-fA-F])';

-- An index that was not finished is there, and serves nobody.
SET lock_timeout = '10min';
DROP INDEX CONCURRENTLY IF EXISTS dead_letters_by_source;
CREATE INDEX CONCURRENTLY dead_letters_by_source ON dead_letters (provider, source, last_failed_at, id) WHERE source <> '';
DROP INDEX CONCURRENTLY IF EXISTS events_by_source;
CREATE INDEX CONCURRENTLY events_by_source ON events (provider, source, id) WHERE source <> '';

RESET lock_timeout;
RESET statement_timeout;
