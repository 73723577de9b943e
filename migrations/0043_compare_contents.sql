-- event_contents: which events with a guessed key had which content, so that a later event with equal content can be marked or
-- held. Rows go after 31 days, and with an event that is expunged. events.possible_duplicate_of: the first event with the same
-- content in 30 days; null where there is none, or where the key is certain. Two more classes of errors: in_doubt and conflict.
--
-- Locks: events, dead_letters and error_log exclusively for a moment: the column has no default, and what is there is not checked
-- again, since the new constraints allow all that the old ones did.

-- +goose Up
SET LOCAL lock_timeout = '5s';

CREATE TABLE event_contents (
    provider    text        NOT NULL,
    content     text        NOT NULL,
    received_at timestamptz NOT NULL,
    event_id    uuid        NOT NULL,

    PRIMARY KEY (provider, content, received_at, event_id)
);
CREATE INDEX event_contents_by_time ON event_contents (received_at);
CREATE INDEX event_contents_by_event ON event_contents (event_id);

ALTER TABLE events ADD COLUMN possible_duplicate_of uuid;

ALTER TABLE dead_letters
    DROP CONSTRAINT dead_letters_class_known,
    ADD CONSTRAINT dead_letters_class_known
        CHECK (error_class IN ('transient', 'rejected', 'failed', 'in_doubt', 'conflict')) NOT VALID;
ALTER TABLE error_log
    DROP CONSTRAINT error_log_class_known,
    ADD CONSTRAINT error_log_class_known
        CHECK (error_class IN ('transient', 'rejected', 'failed', 'in_doubt', 'conflict')) NOT VALID;
