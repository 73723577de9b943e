-- The index by which what waits is grouped by cause also holds the subscription: deliveries that fail for one receiver and those for
-- another are two causes. It takes the place of the one of 0034.
--
-- Locks: none that anyone could wait for: the index is built beside readers and writers, and the old one goes when the new one is
-- there. There is no transaction around the file, so each statement can be run again.

-- +goose NO TRANSACTION
-- +goose Up
SET lock_timeout = '10min';
SET statement_timeout = 0;

-- An index that was not finished is there, and serves nobody.
DROP INDEX CONCURRENTLY IF EXISTS dead_letters_by_cause_of_each;
CREATE INDEX CONCURRENTLY dead_letters_by_cause_of_each ON dead_letters
    (provider, step, error_class, error_code, rule, subscription_id, state)
    INCLUDE (first_failed_at, last_failed_at, id, replay_id)
    WHERE state IN ('open', 'replaying', 'exhausted');
DROP INDEX CONCURRENTLY IF EXISTS dead_letters_by_cause;

RESET lock_timeout;
RESET statement_timeout;
