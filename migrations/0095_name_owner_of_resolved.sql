-- dead_letters.duplicate_of: the event that made a dead letter needless, because it has the same key and content. Null where
-- the event itself was processed. Under a corrected definition, the event may have been sent again and processed before its replay.
--
-- Locks: dead_letters exclusively for a moment: the column has no default.

-- +goose Up
SET LOCAL lock_timeout = '5s';

ALTER TABLE dead_letters ADD COLUMN duplicate_of uuid;
