package keys

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

const (
	// markEarlier stores the key and fingerprint under which the previous release would look up the event.
	markEarlier = `
INSERT INTO idempotency_keys (provider, key, event_id, first_seen, expires_at, fingerprint)
SELECT provider, key, event_id, seen, CASE WHEN microseconds > 0 THEN seen + microseconds * interval '1 microsecond' END,
       nullif(fingerprint, '')
  FROM unnest($1::text[], $2::text[], $3::uuid[], $4::timestamptz[], $5::bigint[], $6::text[])
       AS claim (provider, key, event_id, seen, microseconds, fingerprint)
ON CONFLICT DO NOTHING`

	// adoptEarlier gives the event's key to the owner of its earlier key, or of its mark, if both are the same event.
	adoptEarlier = `
INSERT INTO idempotency_keys (provider, key, event_id, first_seen, expires_at, fingerprint)
SELECT held.provider, claim.key, held.event_id, held.first_seen, held.expires_at, nullif(claim.fingerprint, '')
  FROM unnest($1::text[], $2::text[], $3::uuid[], $4::timestamptz[], $5::text[], $6::text[], $7::text[])
       AS claim (provider, key, event_id, seen, fingerprint, earlier_key, earlier_fingerprint)
 CROSS JOIN LATERAL (
       SELECT * FROM idempotency_keys WHERE provider = claim.provider AND key = claim.earlier_key OFFSET 0) AS held
 WHERE held.fingerprint = claim.earlier_fingerprint AND held.event_id <> claim.event_id
   AND (held.expires_at IS NULL OR held.expires_at > claim.seen)
ON CONFLICT DO NOTHING`
)

// QueueEarlier looks for events under the keys that the previous release gave them. An event of this release marks the pair
// of its earlier key and fingerprint, so that a run of the previous release that is still in progress finds the mark. It never
// claims the earlier key itself, since another event may own it.
func QueueEarlier(b *pgx.Batch, rs []event.Receipt) {
	var marks []event.Receipt
	var providers, keys, ids, fingerprints, earlier, earlierFingerprints []string
	var seen []time.Time
	for _, r := range rs {
		key, fingerprint := earlierMark(r.Key, r.Fingerprint), r.Fingerprint
		switch {
		case r.Earlier != nil:
			key, fingerprint = r.Earlier.Key, r.Earlier.Fingerprint
		case r.Certain || r.Content != "" || r.Fingerprint == "":
			continue
		}
		if r.Earlier != nil && r.ConflictsWith == "" {
			marks = append(marks, event.Receipt{
				ID: r.ID, Provider: r.Provider, Key: earlierMark(key, fingerprint), ReceivedAt: r.ReceivedAt,
				DedupeWindow: marksLast, Fingerprint: fingerprint,
			})
		}
		providers, keys, ids = append(providers, postgres.Clean(r.Provider)), append(keys, postgres.Clean(r.Key)), append(ids, r.ID)
		seen, fingerprints = append(seen, r.ReceivedAt), append(fingerprints, postgres.Clean(r.Fingerprint))
		earlier, earlierFingerprints = append(earlier, postgres.Clean(key)), append(earlierFingerprints, postgres.Clean(fingerprint))
	}
	if len(marks) > 0 {
		Sort(marks)
		b.Queue(markEarlier, columnsOf(marks)...)
	}
	if len(providers) > 0 {
		b.Queue(adoptEarlier, providers, keys, ids, seen, fingerprints, earlier, earlierFingerprints)
	}
}

// marksLast is longer than a run of the previous release can go on after an upgrade; then a purge removes the mark.
const marksLast = event.Duration(7 * 24 * time.Hour)

// earlierMark returns the key that stands for one event of the previous release among a provider's keys. It contains a character
// that keys can't contain, so it never equals an event's key.
func earlierMark(key, fingerprint string) string {
	sum := sha256.Sum256([]byte(key + "\n" + fingerprint))
	return "earlier/" + hex.EncodeToString(sum[:16])
}
