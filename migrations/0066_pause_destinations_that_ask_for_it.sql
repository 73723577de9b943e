-- A destination that answers 429, or 503 with Retry-After, is paused as a whole: resume_at is until when, busy_answers how often it
-- has done so since its last success, which makes the pause longer where it names none.
--
-- Locks: destination_states against everything for an instant (the defaults are constants).

-- +goose Up
SET LOCAL lock_timeout = '5s';

ALTER TABLE destination_states
    ADD COLUMN resume_at    timestamptz,
    ADD COLUMN busy_answers integer NOT NULL DEFAULT 0;
