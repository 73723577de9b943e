-- destination_variables: the environment variables that destinations may take their secrets from. A name that isn't listed never
-- resolves. Only an admin adds one, by naming it in a destination; the names in use now are listed here.
--
-- destinations.headers: the values of a destination's headers, encrypted like its secrets; settings keep only their names. SQL can't
-- encrypt, so `holdfast migrate` moves the values of existing rows after this file. The release before can't read such a destination:
-- its processes go on with what they have in memory, and once restarted leave the deliveries of that destination waiting.
--
-- Locks: destinations, which has one row per destination, against everything for a moment. Deliveries go on.

-- +goose Up
SET LOCAL lock_timeout = '5s';

ALTER TABLE destinations ADD COLUMN headers bytea;

CREATE TABLE destination_variables (
    name     text        PRIMARY KEY,
    added_by text        NOT NULL,
    added_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- What can't be the name of a variable never resolved, and may be a pasted secret.
INSERT INTO destination_variables (name, added_by)
SELECT DISTINCT settings -> 'http' ->> 'secrets', 'upgrade'
  FROM destinations
 WHERE deleted_at IS NULL AND settings -> 'http' ->> 'secrets' ~ '^[A-Za-z_][A-Za-z0-9_]{0,254}$'
   AND settings -> 'http' ->> 'secrets' !~* '^whsec_';
