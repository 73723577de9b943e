package persistence

import (
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
)

// claimKey takes (provider, key) for an event, in one atomic statement: a key that nobody has, or that the event
// itself has, or whose owner was received a dedupe window ago or more. A window of 0 never ends. A claim that is
// repeated keeps the time of the first one. The end of the window is noted for the purge only: what a claim goes by is
// the window that its own definition has by then.
const (
	claimKey = claimOfKey + claimOverHeld

	claimOfKey = `
INSERT INTO idempotency_keys AS held (provider, key, event_id, first_seen, expires_at)
SELECT $1, $2, $3::uuid, $4::timestamptz, CASE WHEN $5::interval > interval '0' THEN $4::timestamptz + $5::interval END`

	claimOverHeld = `
ON CONFLICT (provider, key) DO UPDATE
   SET event_id = excluded.event_id, first_seen = excluded.first_seen, expires_at = excluded.expires_at
 WHERE held.event_id <> excluded.event_id
   AND $5::interval > interval '0' AND excluded.first_seen >= held.first_seen + $5::interval`
)

// ownerOfKey tells how a claim has ended. An event that has a row has won, now or earlier: it stays an event of its
// own even if its window has passed and another event has the key by now.
const ownerOfKey = `
SELECT coalesce((SELECT event_id::text FROM idempotency_keys WHERE provider = $1 AND key = $2), ''),
       EXISTS (SELECT FROM events WHERE id = $3::uuid)`

func queueClaim(b *pgx.Batch, r event.Receipt) { b.Queue(claimKey, claimOf(r)...) }

// claimOf are the arguments of claimKey.
func claimOf(r event.Receipt) []any {
	return []any{clean(r.Provider), clean(r.Key), r.ID, r.ReceivedAt, time.Duration(r.DedupeWindow)}
}

func queueOwner(b *pgx.Batch, r event.Receipt, owner *string, stored *bool) {
	b.Queue(ownerOfKey, clean(r.Provider), clean(r.Key), r.ID).
		QueryRow(func(row pgx.Row) error { return row.Scan(owner, stored) })
}
