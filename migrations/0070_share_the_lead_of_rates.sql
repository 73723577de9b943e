-- destination_states.lead: how many seconds before their start times the attempts of a destination with a rate are leased.
-- Processes that share the destination all use the longest one. With different ones, the process that leases earliest moves the
-- start times of the others back.
--
-- Locks: destination_states against everything for an instant (the default is a constant). Processes of the release before leave
-- the column alone, and lease with their own lead.

-- +goose Up
SET LOCAL lock_timeout = '5s';

ALTER TABLE destination_states ADD COLUMN lead double precision NOT NULL DEFAULT 0;
