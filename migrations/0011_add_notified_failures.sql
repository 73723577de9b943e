-- dead_letters.notified_failures: how many of a row's failures somebody has been told of. What has not been told is told
-- once, however often a notification is tried, and whatever the clocks of those who write and those who tell say.
--
-- Locks: dead_letters exclusively, for the moment that the column takes (its default is no rewrite) and while the index,
-- which holds open rows only, is built.

-- +goose Up
SET LOCAL lock_timeout = '5s';

ALTER TABLE dead_letters ADD COLUMN notified_failures integer NOT NULL DEFAULT 0;

CREATE INDEX dead_letters_to_notify ON dead_letters (id)
 WHERE notified_failures < failures AND state IN ('open', 'exhausted');
