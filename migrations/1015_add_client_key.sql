-- destinations.client_key: the private key of a destination's client certificate, sealed like its secrets and header values. The
-- certificate, which isn't secret, is in settings. Keys in files have no value here.
--
-- Locks: destinations, for an instant.

-- +goose Up
SET LOCAL lock_timeout = '5s';

ALTER TABLE destinations ADD COLUMN client_key bytea;
