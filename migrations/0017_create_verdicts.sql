-- verdicts: what operators have decided about events for good. A dead letter that is discarded is cleaned up one day, a key
-- expires, Temporal forgets; a reset, a redelivery or a replay must not undo the decision even then. The writer of events reads
-- this table before it writes. Rows are few, since each is somebody's decision, and are kept for ever.
--
-- What was discarded or replaced before gets its verdict here, and its key, so that a redelivery is a duplicate; `holdfast migrate`
-- takes back what such an event has left on entities. An event that was processed after all has had its decision undone: its
-- letter says so from now on.
--
-- Locks: none on tables that anyone could wait for; the closed rows of dead_letters while the file runs.

-- +goose Up
SET LOCAL lock_timeout = '5s';

CREATE TABLE verdicts (
    event_id    uuid        PRIMARY KEY,
    verdict     text        NOT NULL,
    at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    by          text        NOT NULL,
    reason      text        NOT NULL,
    replaced_by uuid,

    CONSTRAINT verdicts_verdict_known CHECK (verdict IN ('discarded', 'replaced', 'expunged')),
    CONSTRAINT verdicts_replaced_is_complete CHECK ((verdict = 'replaced') = (replaced_by IS NOT NULL))
);

UPDATE dead_letters AS d
   SET state = 'resolved', resolved_at = e.processed_at, resolved_run_id = e.run_id
  FROM events AS e
 WHERE d.state = 'discarded' AND e.id = d.event_id AND e.status = 'processed' AND e.processed_at >= d.discarded_at;

INSERT INTO verdicts (event_id, verdict, at, by, reason, replaced_by)
SELECT DISTINCT ON (event_id) event_id, CASE WHEN replaced_by IS NULL THEN 'discarded' ELSE 'replaced' END,
       discarded_at, coalesce(discarded_by, 'unknown'), discard_reason, replaced_by
  FROM dead_letters AS d
 WHERE state = 'discarded'
   AND NOT EXISTS (SELECT FROM dead_letters AS other
                    WHERE other.event_id = d.event_id
                      AND (other.state IN ('open', 'replaying', 'exhausted')
                           OR other.state = 'resolved' AND other.resolved_at >= d.discarded_at))
 ORDER BY event_id, discarded_at DESC, id DESC;

-- The receipt is read as text, since json refuses to take anything out of a document with \u0000 in it. Both fields stand before
-- all that a sender has written.
WITH given_up AS (
     SELECT d.provider, d.key, d.event_id,
            substring(split_part(d.receipt::text, '"received_at":', 2) from '^"([^"]+)"')::timestamptz AS received_at,
            substring(split_part(d.receipt::text, '"received_at":', 1) from '"dedupe_window":"([0-9.hms]+)"')::interval AS dedupe_window
       FROM dead_letters AS d JOIN verdicts AS v ON v.event_id = d.event_id
      WHERE d.state = 'discarded'
)
INSERT INTO idempotency_keys (provider, key, event_id, first_seen, expires_at)
SELECT provider, key, event_id, received_at, received_at + dedupe_window FROM given_up WHERE received_at IS NOT NULL
    ON CONFLICT DO NOTHING;
