-- imported: a resend also sends imported events that the previous system had processed. Without it they are left out, because the previous
-- system delivered them.
--
-- Locks: the table resends, for a moment. The default isn't written into the rows.

-- +goose Up
SET LOCAL lock_timeout = '5s';

ALTER TABLE resends ADD COLUMN imported boolean NOT NULL DEFAULT false;
