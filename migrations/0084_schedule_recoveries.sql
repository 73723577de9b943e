-- recoveries.whole: the schedule's daily recovery of everything in the provider's list, since events may appear in it later than
-- the overlap. recoveries.wanted_since: where the recovery would have begun if nothing had cut it.
--
-- recovery_marks.windows: all dedupe windows of the definition, with those of its overrides; dedupe is now the shortest. If any of
-- them may have become longer, recovery is switched on again.
--
-- Locks: recoveries and recovery_marks against everything for an instant (the defaults are constants). Processes of the release
-- before leave the columns alone.

-- +goose Up
SET LOCAL lock_timeout = '5s';

ALTER TABLE recoveries ADD COLUMN whole boolean NOT NULL DEFAULT false, ADD COLUMN wanted_since timestamptz;
ALTER TABLE recovery_marks ADD COLUMN windows text NOT NULL DEFAULT '';

COMMENT ON COLUMN recoveries.wanted_since IS 'Null unless cut: what lies between it and since was not read.';
COMMENT ON COLUMN recovery_marks.dedupe IS 'The shortest window. Null: keys are kept forever.';
COMMENT ON COLUMN recovery_marks.walked_at IS 'When a recovery has last read everything in the list.';
