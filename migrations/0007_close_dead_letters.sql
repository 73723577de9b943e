-- dead_letters: what closes a row beside a run that succeeds. An operator discards it, with a reason, or replaces it: the
-- edited event is a row of its own with another event id, whose receipt names the event that it replaces, and
-- replaced_by points the other way. And the indexes of the operators' lists: all of them end in the order of the lists,
-- the last failed first.
--
-- Locks: dead_letters against writers while the indexes are built. Dead letters are recorded by an activity that is
-- retried without limit, so those that come meanwhile wait and lose nothing.

-- +goose Up
SET LOCAL lock_timeout = '5s';

ALTER TABLE dead_letters
    ADD COLUMN discarded_at   timestamptz,
    ADD COLUMN discarded_by   text,
    ADD COLUMN discard_reason text,
    ADD COLUMN replaced_by    uuid,
    ADD CONSTRAINT dead_letters_discarded_is_complete
        CHECK (state <> 'discarded' OR (discarded_at IS NOT NULL AND discard_reason <> '')) NOT VALID,
    ADD CONSTRAINT dead_letters_replaced_is_discarded
        CHECK (replaced_by IS NULL OR discarded_at IS NOT NULL);

COMMENT ON COLUMN dead_letters.replaced_by IS 'The event that was made of this one by an edit.';

CREATE INDEX dead_letters_by_state_only ON dead_letters (state, last_failed_at, id);
CREATE INDEX dead_letters_by_class ON dead_letters (error_class, last_failed_at, id);
CREATE INDEX dead_letters_by_code ON dead_letters (error_code, last_failed_at, id);
CREATE INDEX dead_letters_by_type ON dead_letters (type, last_failed_at, id);
CREATE INDEX dead_letters_by_workflow ON dead_letters (workflow_id, last_failed_at, id);
-- The removal of what is closed, by age.
CREATE INDEX dead_letters_closed ON dead_letters ((coalesce(resolved_at, discarded_at)), id)
    WHERE state IN ('resolved', 'discarded');
