-- destinations.secrets_at: since when its secrets are what they are, which tells how old the one is that signs. For those that are
-- there it is the last rotation that the audit log knows, else when the destination was made.
--
-- Locks: destinations, which has a row a receiver, against everything for a moment. Deliveries go on: they have read it before.

-- +goose Up
SET LOCAL lock_timeout = '5s';

ALTER TABLE destinations ADD COLUMN secrets_at timestamptz;

UPDATE destinations AS d
   SET secrets_at = coalesce(
       (SELECT max(at) FROM audit_log WHERE object = 'destination:' || d.name AND action = 'destination.rotate_secret'), d.created_at);

ALTER TABLE destinations ALTER COLUMN secrets_at SET DEFAULT clock_timestamp(), ALTER COLUMN secrets_at SET NOT NULL;
