-- event_entities_changes and event_entities_mentions take the place of event_entities_timeline. A mention (a patch of nothing) never
-- changes a state, and of an entity that every event mentions there are millions: a fold reads changes only. Both are in fold order:
-- no version before any, then time, then event.
--
-- An entity whose latest event is a mention keeps it as its latest until its next change; from then on mentions do not count.
--
-- Locks: none that readers or writers wait for. Until a worker of this release runs, late changes and timelines of the release before
-- are slow: they have lost their index. There is no transaction around the file, so each statement can be run again.

-- +goose NO TRANSACTION
-- +goose Up
SET lock_timeout = '10min';
SET statement_timeout = 0;

-- An index that was not finished is there, and serves nobody.
DROP INDEX CONCURRENTLY IF EXISTS event_entities_changes;
CREATE INDEX CONCURRENTLY event_entities_changes ON event_entities
    (provider, kind, external_id, (coalesce(version::numeric, '-Infinity')), occurred_at, event_id, position)
 WHERE op <> 'patch' OR change <> '{}';
DROP INDEX CONCURRENTLY IF EXISTS event_entities_mentions;
CREATE INDEX CONCURRENTLY event_entities_mentions ON event_entities
    (provider, kind, external_id, (coalesce(version::numeric, '-Infinity')), occurred_at, event_id, position)
 WHERE op = 'patch' AND change = '{}';
DROP INDEX CONCURRENTLY IF EXISTS event_entities_timeline;

RESET lock_timeout;
RESET statement_timeout;
