-- rebuilds.splits: how many processed events the current definition would split. They stay one event each.
--
-- Locks: rebuilds, for a moment. The table is small, and the default isn't written into its rows.

-- +goose Up
SET LOCAL lock_timeout = '5s';

ALTER TABLE rebuilds ADD COLUMN splits bigint NOT NULL DEFAULT 0;
