-- imports.providers: the providers whose keys the import has claimed. The ingress looks up the keys of these providers' events,
-- since Temporal has no run of an imported event.
--
-- Locks: imports, for a moment. The table is small, and the default isn't written into its rows.

-- +goose Up
SET LOCAL lock_timeout = '5s';

ALTER TABLE imports ADD COLUMN providers text[] NOT NULL DEFAULT '{}';
