-- idempotency_keys: a dead letter has the key of its event from now on, so that a redelivery finds the event, or what an operator has
-- decided about it, also under another ID. What failed before it was persisted had no key: those that wait or are discarded get it
-- here. A key whose window had passed when the event came goes over to it, as it does to any event. So does a key that an import has
-- brought for its own sake, unless the event came after the last import: then it is a redelivery. Of several dead letters with one
-- key the first has it. The receipt is read as text, since json refuses to take anything out of a document with \u0000 in it; all three
-- fields stand before all that a sender has written.
--
-- Locks: the rows of the keys that are given, until the file has run: events with these keys wait for that.

-- +goose Up
SET LOCAL lock_timeout = '5s';

WITH failed AS (
     SELECT d.provider, d.key, d.event_id,
            substring(split_part(d.receipt::text, '"received_at":', 2) from '^"([^"]+)"')::timestamptz AS received_at,
            substring(split_part(d.receipt::text, '"received_at":', 1) from '"dedupe_window":"([0-9.hms]+)"')::interval AS dedupe_window,
            substring(split_part(split_part(d.receipt::text, '"received_at":', 1), '"earlier":', 1)
                      from '"fingerprint":"([^"]+)"') AS fingerprint
       FROM dead_letters AS d
      WHERE d.subscription_id = 0
        AND (d.state IN ('open', 'replaying', 'exhausted')
             OR d.state = 'discarded' AND EXISTS (SELECT FROM verdicts AS v WHERE v.event_id = d.event_id))
), claim AS (
     SELECT DISTINCT ON (provider, key) provider, key, event_id, received_at, received_at + dedupe_window AS expires_at, fingerprint
       FROM failed WHERE received_at IS NOT NULL
      ORDER BY provider, key, received_at, event_id
)
INSERT INTO idempotency_keys AS held (provider, key, event_id, first_seen, expires_at, fingerprint)
SELECT provider, key, event_id, received_at, expires_at, fingerprint FROM claim ORDER BY provider, key
    ON CONFLICT (provider, key) DO UPDATE
   SET event_id = excluded.event_id, first_seen = excluded.first_seen, expires_at = excluded.expires_at,
       fingerprint = excluded.fingerprint
 WHERE held.event_id <> excluded.event_id
   AND (excluded.expires_at IS NOT NULL
        AND excluded.first_seen - held.first_seen >= excluded.expires_at - excluded.first_seen
        OR substr(held.event_id::text, 15, 1) = '8'
           AND excluded.first_seen <= coalesce((SELECT max(coalesce(ended_at, now())) FROM imports), 'infinity'));
