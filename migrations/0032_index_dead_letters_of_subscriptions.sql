-- A dead letter of each subscription may wait by itself, beside that of the event, and those of a subscription that is deleted
-- are found.
--
-- Locks: none that anyone could wait for: the indexes are built beside readers and writers. What is recorded by a version that
-- does not know of subscriptions fails once the old index has gone; its activity is retried for ever. There is no transaction
-- around the file, so each statement can be run again.

-- +goose NO TRANSACTION
-- +goose Up
SET lock_timeout = '10min';
SET statement_timeout = 0;

-- An index that was not finished is there, and serves nobody.
DROP INDEX CONCURRENTLY IF EXISTS dead_letters_one_waiting_each;
CREATE UNIQUE INDEX CONCURRENTLY dead_letters_one_waiting_each ON dead_letters (event_id, subscription_id)
    WHERE state IN ('open', 'replaying', 'exhausted');
DROP INDEX CONCURRENTLY IF EXISTS dead_letters_one_waiting;
DROP INDEX CONCURRENTLY IF EXISTS dead_letters_of_subscriptions;
CREATE INDEX CONCURRENTLY dead_letters_of_subscriptions ON dead_letters (subscription_id, id)
    WHERE subscription_id > 0 AND state IN ('open', 'replaying', 'exhausted');

RESET lock_timeout;
RESET statement_timeout;
