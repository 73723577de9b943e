-- redeliveries: the IDs that the ingress gave to redeliveries which only the database recognized: those of imported events, of events whose
-- run Temporal no longer has, and of the bulk lane. The sender knows such an ID, and nothing else says which event it was. It goes with
-- the retention of events.
--
-- Locks: none that anyone could wait for; the table is new.

-- +goose Up
SET LOCAL lock_timeout = '5s';

CREATE TABLE redeliveries (
    event_id uuid PRIMARY KEY,
    owner_id uuid NOT NULL
);
