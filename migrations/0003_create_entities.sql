-- entities: the folded state of each thing that events speak of. The row is derived: event_entities holds what it is
-- folded from, and a fold can run again at any time.
--
-- Locks: none that anyone could wait for; the table is new.

-- +goose Up
SET LOCAL lock_timeout = '5s';

CREATE TABLE entities (
    provider      text        NOT NULL,
    kind          text        NOT NULL,
    external_id   text        NOT NULL,
    state         jsonb       NOT NULL DEFAULT '{}',
    deleted       boolean     NOT NULL DEFAULT false,
    version       bigint,
    occurred_at   timestamptz,
    last_event_id uuid,
    updated_at    timestamptz NOT NULL DEFAULT now(),

    PRIMARY KEY (provider, kind, external_id),
    CONSTRAINT entities_state_is_object CHECK (jsonb_typeof(state) = 'object')
)
-- Room on each page, so that the frequent update of state stays on it and touches no index.
WITH (fillfactor = 85);

COMMENT ON COLUMN entities.last_event_id IS
    'The latest event in fold order (version, occurred_at, id). Null only inside the transaction that creates the row.';
