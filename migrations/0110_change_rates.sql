-- rated_at: when a process last claimed requests at the rate of the row. A claim with a lower rate changes the row at once, and one with a
-- higher rate once nobody has claimed at the lower rate for a minute: while processes disagree, the lower rate holds. So far a row kept the
-- rate that it began with for as long as it existed.
--
-- Locks: the table rates, for a moment. Each claim waits for it. The default isn't written into the rows, and lets the next claim set the
-- rate.

-- +goose Up
SET LOCAL lock_timeout = '5s';

ALTER TABLE rates ADD COLUMN rated_at timestamptz NOT NULL DEFAULT '-infinity';
