-- events.omitted: the entities that the event names and doesn't change, because a limit was exceeded: their number, the first of
-- them, and the limit. NULL if there are none.
--
-- Locks: events for an instant, without rewriting it.

-- +goose Up
SET LOCAL lock_timeout = '5s';

ALTER TABLE events ADD COLUMN omitted jsonb;
