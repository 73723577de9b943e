-- events_by_batched_key: finds by its key an event that a batch has processed. An event with a workflow of its own is found by
-- the ID of that; the ID of a batch names none of its events.
--
-- Locks: events against writers while the index is built, which takes one read of the table: no row is in it yet, since the
-- first batch comes with this release. Steps that come meanwhile wait, and are retried.

-- +goose Up
SET LOCAL lock_timeout = '5s';

CREATE INDEX events_by_batched_key ON events (provider, key, id) WHERE workflow_id LIKE 'batch/%';
