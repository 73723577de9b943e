-- Senders and their proxies may choose the ID of a request (X-Request-Id). The indexes find the events of such a request, however
-- old they are. IDs that the ingress makes begin with their time, which is enough to find their events: they aren't indexed, so
-- an installation without such senders pays nothing. Others pay an index entry for each event.
--
-- The ID of a dead letter's request is taken from the text of its receipt: the operators of JSON fail for receipts with the character
-- U+0000, and then the dead letter couldn't be stored.
--
-- Locks: none that block reads or writes. Building the first index reads all events. CREATE INDEX CONCURRENTLY also waits for the
-- transactions that began before it, such as a pg_dump. lock_timeout would end this wait, too, and leave an invalid index. Nothing
-- queues behind the wait, so it has no limit.

-- +goose NO TRANSACTION
-- +goose Up
SET lock_timeout = 0;
SET statement_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS events_by_chosen_request;
CREATE INDEX CONCURRENTLY events_by_chosen_request ON events (request_id)
    WHERE request_id <> '' AND request_id !~ '^[0-9a-f]{8}-[0-9a-f]{4}-7';
DROP INDEX CONCURRENTLY IF EXISTS dead_letters_by_chosen_request;
CREATE INDEX CONCURRENTLY dead_letters_by_chosen_request ON dead_letters ((substring(receipt::text FROM '"request_id":"([^"\\]*)"')))
    WHERE substring(receipt::text FROM '"request_id":"([^"\\]*)"') <> ''
      AND substring(receipt::text FROM '"request_id":"([^"\\]*)"') !~ '^[0-9a-f]{8}-[0-9a-f]{4}-7';
RESET lock_timeout;
RESET statement_timeout;
