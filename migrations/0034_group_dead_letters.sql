-- dead_letters.rule: the field of the definition that could not be evaluated, as "entities[0].id", which tells the causes of equal
-- codes apart. Those that were there before and wait take it from their message. And the index by which what waits is grouped by
-- cause, and the replay of a cause is planned, without reading the rows, which hold bodies.
--
-- Locks: dead_letters against everything while the column is added (an instant: its default is a constant). The index is built
-- beside readers and writers, and holds only rows that wait. There is no transaction around the file, so each statement can be
-- run again.

-- +goose NO TRANSACTION
-- +goose Up
SET lock_timeout = '5s';
SET statement_timeout = 0;

ALTER TABLE dead_letters ADD COLUMN IF NOT EXISTS rule text NOT NULL DEFAULT '';

UPDATE dead_letters SET rule = substring(error_message FROM ': evaluate ([^ ]+)$')
 WHERE rule = '' AND state IN ('open', 'replaying', 'exhausted') AND error_code LIKE 'jq\_%'
   AND error_message ~ ': evaluate [^ ]+$';

-- An index that was not finished is there, and serves nobody.
SET lock_timeout = '10min';
DROP INDEX CONCURRENTLY IF EXISTS dead_letters_by_cause;
CREATE INDEX CONCURRENTLY dead_letters_by_cause ON dead_letters
    (provider, step, error_class, error_code, rule, state) INCLUDE (first_failed_at, last_failed_at, id, replay_id)
    WHERE state IN ('open', 'replaying', 'exhausted');

RESET lock_timeout;
RESET statement_timeout;
