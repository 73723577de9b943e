-- idempotency_keys.expires_at: the end of the dedupe window that the key was claimed for, after which its row may go. Null
-- means never, and that is what all rows have that were there before: their windows are not on record.
--
-- Locks: idempotency_keys exclusively, for the moment that the column takes; the index is empty while it is built.

-- +goose Up
SET LOCAL lock_timeout = '5s';

ALTER TABLE idempotency_keys ADD COLUMN expires_at timestamptz;

CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (expires_at) WHERE expires_at IS NOT NULL;
