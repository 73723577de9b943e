-- archive_files: one row a file of the archive, from before it is written. Whoever expunges an event raises expunges of the files
-- that may hold it, in the transaction that expunges; the next purge takes the event out of them and notes up to which it has
-- looked. A new file has not been looked at, since an event may be expunged while it is written.
--
-- Locks: none that anyone could wait for; the table is new.

-- +goose Up
SET LOCAL lock_timeout = '5s';

CREATE TABLE archive_files (
    name     text        PRIMARY KEY,
    first_id uuid        NOT NULL,
    last_id  uuid        NOT NULL,
    lines    integer     NOT NULL,
    expunges integer     NOT NULL DEFAULT 1,
    looked   integer     NOT NULL DEFAULT 0,
    at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    due_at   timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Which files may hold an event. Files overlap little, so few begin before it and end after it.
CREATE INDEX archive_files_by_event ON archive_files (last_id, first_id);
-- What is to be looked at; hardly ever more than a few.
CREATE INDEX archive_files_due ON archive_files (at) WHERE looked < expunges;
CREATE INDEX archive_files_by_time ON archive_files (at);

COMMENT ON COLUMN archive_files.due_at IS 'Since when an event that was expunged may be in the file, where expunges is above looked.';
