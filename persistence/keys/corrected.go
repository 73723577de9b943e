package keys

import (
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence/postgres"
)

const (
	// planKeys reserves keys for the events of a dry run.
	planKeys = `
INSERT INTO rebuild_keys (rebuild_id, provider, key, event_id, received_at)
SELECT $1, provider, key, event_id, seen
  FROM unnest($2::text[], $3::text[], $4::uuid[], $5::timestamptz[]) AS claim (provider, key, event_id, seen)
ON CONFLICT (rebuild_id, provider, key) DO NOTHING`

	// selectKeyOwners returns who has the keys; of a dry run, also who would have them.
	selectKeyOwners = `
SELECT claim.n, coalesce(held.event_id, planned.event_id)::text, coalesce(held.first_seen, planned.received_at)
  FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS claim (provider, key, n)
  LEFT JOIN LATERAL (
       SELECT event_id, first_seen FROM idempotency_keys
        WHERE provider = claim.provider AND key = claim.key OFFSET 0) AS held ON true
  LEFT JOIN LATERAL (
       SELECT event_id, received_at FROM rebuild_keys
        WHERE rebuild_id = $1 AND provider = claim.provider AND key = claim.key OFFSET 0) AS planned ON true
 WHERE coalesce(held.event_id, planned.event_id) IS NOT NULL`
)

// Corrects reports whether an event has another key by today's definition. An edit, and a conflict that an operator accepted,
// have keys of their own.
func Corrects(r event.Receipt, now event.Identity) bool {
	return now.Key != r.Key && r.Replaces == "" && r.ConflictsWith == ""
}

// QueueCorrected claims the corrected keys of processed events where they are free, and calls shared for each event whose key
// another one has. A dry run, whose ID is planFor, claims nothing. "" means no dry run. The events stay as they are.
func QueueCorrected(b *pgx.Batch, corrected []event.Receipt, planFor string, shared func(operation.SharedKey)) {
	Sort(corrected)
	if planFor == "" {
		b.Queue(postgres.EventLocks, idsOf(corrected))
		QueueFree(b, corrected)
	} else {
		b.Queue(planKeys, append([]any{planFor}, columnsOf(corrected)[:4]...)...)
	}
	QueueOwners(b, planFor, corrected, func(n int, owner string) {
		r := corrected[n]
		shared(operation.SharedKey{EventID: r.ID, Provider: r.Provider, Key: r.Key, Owner: owner})
	})
}

// QueueOwners reads who has the keys of events, or would have them after the dry run planFor, and calls shared with the index
// of each event whose key another one has for the same dedupe window.
func QueueOwners(b *pgx.Batch, planFor string, rs []event.Receipt, shared func(n int, owner string)) {
	providers := postgres.Column(rs, func(r event.Receipt) string { return postgres.Clean(r.Provider) })
	keys := postgres.Column(rs, func(r event.Receipt) string { return postgres.Clean(r.Key) })
	var n int
	var owner string
	var received time.Time
	b.Queue(selectKeyOwners, planFor, providers, keys).Query(postgres.ForEach([]any{&n, &owner, &received}, func() {
		if r := rs[n-1]; owner != r.ID && IsWithinWindow(r, received) {
			shared(n-1, owner)
		}
	}))
}

// IsWithinWindow reports whether an event that was received then has the key of r for the same dedupe window.
func IsWithinWindow(r event.Receipt, received time.Time) bool {
	other := event.Receipt{ReceivedAt: received, DedupeWindow: r.DedupeWindow}
	return !r.BeforeWindowOf(received) && !other.BeforeWindowOf(r.ReceivedAt)
}
