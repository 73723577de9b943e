-- delivery_fanouts and import_rows: rows come and go by the thousand, as in inbox and delivery_queue, whose settings they get. By
-- default a table is vacuumed when a fifth of its rows are dead. Whoever takes the next row, or page, walks past all of those, since
-- they are the first of the index.
--
-- Locks: each table for an instant, against vacuum and changes of the schema; readers and writers don't notice.

-- +goose Up
SET LOCAL lock_timeout = '5s';

ALTER TABLE delivery_fanouts SET (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 20000,
    autovacuum_vacuum_cost_delay = 0
);
ALTER TABLE import_rows SET (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 20000,
    autovacuum_vacuum_cost_delay = 0
);
