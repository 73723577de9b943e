-- refetch: a rebuild asks the providers' APIs again for the states behind its events, and replaces what was fetched before.
--
-- Locks: the table rebuilds, for a moment. The default isn't written into the rows.

-- +goose Up
SET LOCAL lock_timeout = '5s';

ALTER TABLE rebuilds ADD COLUMN refetch boolean NOT NULL DEFAULT false;
