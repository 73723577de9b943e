-- notification_claims: what a message is about to say, noted before it is sent. The failures that it names count as told from then on;
-- if no channel takes it, or its end is unknown, the claim says what to take back. So a database that takes no writes stops messages, and
-- does not repeat them.
--
-- Locks: none that anyone could wait for; the table is new.

-- +goose Up
SET LOCAL lock_timeout = '5s';

CREATE TABLE notification_claims (
    id           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    claimed_at   timestamptz NOT NULL DEFAULT now(),
    -- Dead letters, and how many failures of each had been told before.
    dead_letters bigint[]    NOT NULL,
    told_before  integer[]   NOT NULL,
    -- Rows of the error log.
    entries      bigint[]    NOT NULL
);
