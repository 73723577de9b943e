-- import_rows.event_id: the event that a line brings, so that an expunge finds the body that an import has yet to apply. Null: the line
-- brings an entity. Lines that are there take it from their item, whose receipt begins with it.
--
-- Locks: import_rows against everything while the column is added (an instant: it has no default). Lines of imports that have not ended
-- are written once; the index is built beside readers and writers. There is no transaction around the file, so each statement can be
-- run again.

-- +goose NO TRANSACTION
-- +goose Up
SET lock_timeout = '5s';
SET statement_timeout = 0;

ALTER TABLE import_rows ADD COLUMN IF NOT EXISTS event_id uuid;

UPDATE import_rows SET event_id = substring(encode(item, 'escape') FROM '"receipt":\{"id":"([0-9a-f-]{36})"')::uuid
 WHERE event_id IS NULL;

-- An index that was not finished is there, and serves nobody.
SET lock_timeout = '10min';
DROP INDEX CONCURRENTLY IF EXISTS import_rows_by_event;
CREATE INDEX CONCURRENTLY import_rows_by_event ON import_rows (event_id) WHERE event_id IS NOT NULL;

RESET lock_timeout;
RESET statement_timeout;
