-- event_duplicates.rewritten: how many duplicates of an event had other bytes and the same JSON value, such as other white space. They
-- aren't conflicts; operators see that something rewrites what the provider sends.
--
-- Locks: event_duplicates for an instant, without rewriting it.

-- +goose Up
SET LOCAL lock_timeout = '5s';

ALTER TABLE event_duplicates ADD COLUMN rewritten bigint NOT NULL DEFAULT 0;
