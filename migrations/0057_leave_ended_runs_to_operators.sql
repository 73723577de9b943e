-- Dead letters of runs that an operator has terminated or canceled are no longer run again by a schedule. Those that a schedule had
-- planned lose the time of their next attempt, which no console should show any more.
--
-- Locks: the rows that it changes, a few.

-- +goose Up
SET LOCAL lock_timeout = '5s';

UPDATE dead_letters SET next_replay_at = NULL
 WHERE state = 'open' AND next_replay_at IS NOT NULL AND error_class = 'failed' AND error_code IN ('terminated', 'canceled');
