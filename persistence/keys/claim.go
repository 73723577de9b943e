package keys

import (
	"cmp"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

const (
	// claimKeys claims the key of each event in one atomic statement, if the key has no owner or its owner was received a dedupe
	// window ago or more. A window of 0 never ends. A repeated claim keeps the time of the first one. The end of the window is
	// stored for the purge only: claims use the window of their own current definition. The age is the difference between the two
	// times of the refused row, compared as times, since a day of an interval is not always 24 hours. The owner's time counts in
	// whole milliseconds, because the check before a workflow starts has only the time in the owner's ID.
	claimKeys = insertKeys + `
  FROM unnest($1::text[], $2::text[], $3::uuid[], $4::timestamptz[], $5::bigint[], $6::text[])
       AS claim (provider, key, event_id, seen, microseconds, fingerprint)
 WHERE ` + isUndecided + replaceKeys + `
 WHERE held.event_id <> excluded.event_id AND ` + passedWindow

	insertKeys = `
INSERT INTO idempotency_keys AS held (provider, key, event_id, first_seen, expires_at, fingerprint)
SELECT provider, key, event_id, seen, CASE WHEN microseconds > 0 THEN seen + microseconds * interval '1 microsecond' END,
       nullif(fingerprint, '')`

	isUndecided = `NOT EXISTS (SELECT FROM decisions WHERE event_id = claim.event_id OFFSET 0)`

	replaceKeys = `
ON CONFLICT (provider, key) DO UPDATE
   SET event_id = excluded.event_id, first_seen = excluded.first_seen, expires_at = excluded.expires_at,
       fingerprint = excluded.fingerprint`

	passedWindow = `excluded.expires_at IS NOT NULL
   AND excluded.first_seen - date_trunc('milliseconds', held.first_seen) >= excluded.expires_at - excluded.first_seen`

	// claimFree claims keys without an owner.
	claimFree = insertKeys + `
  FROM unnest($1::text[], $2::text[], $3::uuid[], $4::timestamptz[], $5::bigint[], $6::text[])
       AS claim (provider, key, event_id, seen, microseconds, fingerprint)
 WHERE ` + isUndecided + `
ON CONFLICT (provider, key) DO NOTHING`

	// keepKey keeps the key claimed so that a redelivery stays a duplicate, also of an event that never ran. A key whose window has
	// passed is claimed like an event claims it.
	keepKey = `
INSERT INTO idempotency_keys AS held (provider, key, event_id, first_seen, expires_at, fingerprint)
VALUES ($1, $2, $3, $4, CASE WHEN $5::interval > interval '0' THEN $4::timestamptz + $5::interval END, nullif($6, ''))
    ON CONFLICT (provider, key) DO UPDATE
   SET event_id = excluded.event_id, first_seen = excluded.first_seen, expires_at = excluded.expires_at,
       fingerprint = excluded.fingerprint
 WHERE held.event_id <> excluded.event_id AND ` + passedWindow
)

// Sort sorts receipts in the order in which all transactions claim keys.
func Sort(rs []event.Receipt) {
	slices.SortFunc(rs, func(a, b event.Receipt) int {
		return cmp.Or(cmp.Compare(postgres.Clean(a.Provider), postgres.Clean(b.Provider)), cmp.Compare(a.Key, b.Key))
	})
}

// QueueClaims claims the keys of events. It doesn't return the owners.
func QueueClaims(b *pgx.Batch, rs ...event.Receipt) { b.Queue(claimKeys, columnsOf(rs)...) }

// QueueFree claims the keys that have no owner.
func QueueFree(b *pgx.Batch, rs []event.Receipt) {
	if len(rs) > 0 {
		b.Queue(claimFree, columnsOf(rs)...)
	}
}

// QueueKeep claims the key of an event that an operator has decided about.
func QueueKeep(b *pgx.Batch, r event.Receipt, eventID string) {
	b.Queue(keepKey, postgres.Clean(r.Provider), postgres.Clean(r.Key), eventID, r.ReceivedAt, time.Duration(r.DedupeWindow),
		postgres.Clean(r.Fingerprint))
}

func columnsOf(rs []event.Receipt) []any {
	return []any{
		postgres.Column(rs, func(r event.Receipt) string { return postgres.Clean(r.Provider) }),
		postgres.Column(rs, func(r event.Receipt) string { return postgres.Clean(r.Key) }),
		idsOf(rs),
		postgres.Column(rs, func(r event.Receipt) time.Time { return r.ReceivedAt }),
		postgres.Column(rs, func(r event.Receipt) int64 { return time.Duration(r.DedupeWindow).Microseconds() }),
		postgres.Column(rs, func(r event.Receipt) string { return postgres.Clean(r.Fingerprint) }),
	}
}

func idsOf(rs []event.Receipt) []string {
	return postgres.Column(rs, func(r event.Receipt) string { return r.ID })
}
