-- delivery_unmatched: events that their own transaction had no time to match with all subscriptions. The subscriptions are those
-- whose filters are left. Rows come and go as in delivery_fanouts. The release before, which may run at the same time, would take
-- the subscriptions of a row in delivery_fanouts for matching ones, so these have a table of their own.
--
-- Locks: none.

-- +goose Up
SET LOCAL lock_timeout = '5s';

CREATE TABLE delivery_unmatched (
    event_id      uuid           PRIMARY KEY,
    subscriptions int8multirange NOT NULL
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 20000,
    autovacuum_vacuum_cost_delay = 0
);
