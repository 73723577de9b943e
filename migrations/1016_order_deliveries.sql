-- Ordered deliveries: a subscription with order_by delivers events of one key one at a time, in the order of the change feed.
--
-- The columns of delivery_queue are null for all other deliveries, and the indexes don't have them. order_key is the ID of the
-- subscription, a colon, and the key; order_state says how far the delivery is:
--
--   new      queued, and not sorted yet: a transaction that began before order_xid, which queued it, may still queue one that
--            precedes it. order_place is its place among those of the same transaction
--   waiting  behind the head of its key. order_place is its place in the key
--   head     the one of its key that may be attempted, since head_since. Only heads have a finite due_at
--   paused   a head that an operator has paused
--
-- delivery_order_freed has a row for each key whose head has ended, however it did: a trigger writes it, since many statements
-- end deliveries, and one that forgot it would block a key until an operator notices. The sorter (package outbox) makes the next
-- delivery of the key the head. Rows come and go as in delivery_queue.
--
-- Locks: delivery_queue, for an instant, for the columns, the constraint and the trigger; none that block reads or writes for the
-- indexes. CREATE INDEX CONCURRENTLY waits for the transactions that began before it; nothing queues behind that, so it has no
-- limit.

-- +goose NO TRANSACTION
-- +goose Up
SET lock_timeout = 0;
SET statement_timeout = 0;
SET lock_timeout = '5s';
ALTER TABLE delivery_queue
    ADD COLUMN IF NOT EXISTS order_key   text COLLATE "C",
    ADD COLUMN IF NOT EXISTS order_state text,
    ADD COLUMN IF NOT EXISTS order_xid   xid8,
    ADD COLUMN IF NOT EXISTS order_place bigint,
    ADD COLUMN IF NOT EXISTS head_since  timestamptz,
    DROP CONSTRAINT IF EXISTS delivery_queue_order_state_known,
    ADD CONSTRAINT delivery_queue_order_state_known
        CHECK (order_state IN ('new', 'waiting', 'head', 'paused')) NOT VALID;

CREATE TABLE IF NOT EXISTS delivery_order_freed (
    id        bigint           GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    order_key text COLLATE "C" NOT NULL
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 20000,
    autovacuum_vacuum_cost_delay = 0
);

-- +goose StatementBegin
DO $make$
BEGIN
    EXECUTE format($fn$
        CREATE OR REPLACE FUNCTION free_order_key() RETURNS trigger LANGUAGE plpgsql SET search_path = %1$I, pg_temp AS $body$
        BEGIN
            INSERT INTO delivery_order_freed (order_key) VALUES (OLD.order_key);
            RETURN NULL;
        END $body$ $fn$, current_schema());
END $make$;
-- +goose StatementEnd
CREATE OR REPLACE TRIGGER delivery_queue_frees_key AFTER DELETE ON delivery_queue
    FOR EACH ROW WHEN (OLD.order_state IN ('head', 'paused')) EXECUTE FUNCTION free_order_key();

SET lock_timeout = 0;
-- What is to be sorted.
DROP INDEX CONCURRENTLY IF EXISTS delivery_queue_unsorted;
CREATE INDEX CONCURRENTLY delivery_queue_unsorted ON delivery_queue (order_xid, order_place) WHERE order_state = 'new';
-- A key has one head.
DROP INDEX CONCURRENTLY IF EXISTS delivery_queue_heads;
CREATE UNIQUE INDEX CONCURRENTLY delivery_queue_heads ON delivery_queue (order_key)
    WHERE order_state IN ('head', 'paused');
-- The next one of a key, and how many wait behind its head.
DROP INDEX CONCURRENTLY IF EXISTS delivery_queue_behind;
CREATE INDEX CONCURRENTLY delivery_queue_behind ON delivery_queue (order_key, order_place)
    WHERE order_state = 'waiting';
-- Lists: the heads that have been there the longest.
DROP INDEX CONCURRENTLY IF EXISTS delivery_queue_heads_by_age;
CREATE INDEX CONCURRENTLY delivery_queue_heads_by_age ON delivery_queue (subscription_id, head_since)
    WHERE order_state IN ('head', 'paused');
RESET lock_timeout;
RESET statement_timeout;
