-- rebuilds.shared: how many processed events have, by the current definition, the key of another event.
--
-- Locks: rebuilds exclusively for a moment: the default needs no rewrite.

-- +goose Up
SET LOCAL lock_timeout = '5s';

ALTER TABLE rebuilds ADD COLUMN shared bigint NOT NULL DEFAULT 0;
