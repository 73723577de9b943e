-- events: a row of up to 2.7 KB, of which three fill a page, stays in one piece. From 2 KB on, where PostgreSQL begins by itself,
-- the row of a body of 600 to 800 bytes was compressed in vain and then cut up, which was a quarter of what a batch of the bulk
-- lane cost PostgreSQL. Such a row takes up to a quarter more room now; larger ones are compressed as before.
--
-- Locks: none that readers or writers wait for. It holds for rows that are written from now on.

-- +goose Up
SET LOCAL lock_timeout = '5s';

ALTER TABLE events SET (toast_tuple_target = 2700);
