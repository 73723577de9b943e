-- How many of the refused requests failed authentication. A provider whose secret is wrong here is refused each time, and until now
-- only the log and the metrics of the process that refused it said so.
--
-- Locks: ACCESS EXCLUSIVE on refused_minutes for the time of a catalog change. A constant default rewrites no row.

-- +goose Up
SET LOCAL lock_timeout = '5s';

ALTER TABLE refused_minutes ADD COLUMN unauthenticated bigint NOT NULL DEFAULT 0;
