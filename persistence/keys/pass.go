package keys

import (
	"github.com/jackc/pgx/v5"

	"holdfast/event"
)

const (
	// handOver gives the keys of an event that turned out to be a duplicate to the owner. The claims have locked the rows.
	handOver = `
UPDATE idempotency_keys AS k SET event_id = passed.owner
  FROM (SELECT row.owner, here.place
          FROM unnest($1::text[], $2::text[], $3::uuid[], $4::uuid[]) AS row (provider, key, event_id, owner)
         CROSS JOIN LATERAL (
               SELECT ctid AS place FROM idempotency_keys
                WHERE provider = row.provider AND key = row.key AND event_id = row.event_id OFFSET 0) AS here) AS passed
 WHERE k.ctid = passed.place`

	dropKeys = `
DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY(
       SELECT here.place FROM unnest($1::text[], $2::text[], $3::uuid[]) AS row (provider, key, event_id)
        CROSS JOIN LATERAL (
              SELECT ctid AS place FROM idempotency_keys
               WHERE provider = row.provider AND key = row.key AND event_id = row.event_id OFFSET 0) AS here))`

	// updateFingerprints corrects what an event's own key is compared with.
	updateFingerprints = `
UPDATE idempotency_keys AS k SET fingerprint = nullif(own.fingerprint, '')
  FROM (SELECT row.fingerprint, here.place
          FROM unnest($1::text[], $2::text[], $3::uuid[], $4::text[]) AS row (provider, key, event_id, fingerprint)
         CROSS JOIN LATERAL (
               SELECT ctid AS place FROM idempotency_keys
                WHERE provider = row.provider AND key = row.key AND event_id = row.event_id OFFSET 0) AS here) AS own
 WHERE k.ctid = own.place AND k.fingerprint IS DISTINCT FROM nullif(own.fingerprint, '')`
)

// QueuePass gives the key of each event to the owner with the same index.
func QueuePass(b *pgx.Batch, rs []event.Receipt, owners []string) {
	if len(rs) > 0 {
		b.Queue(handOver, append(columnsOf(rs)[:3:3], owners)...)
	}
}

// QueueDrop removes the keys that events own.
func QueueDrop(b *pgx.Batch, rs []event.Receipt) {
	if len(rs) > 0 {
		b.Queue(dropKeys, columnsOf(rs)[:3]...)
	}
}

// QueueFingerprints corrects the fingerprints of the keys that events own.
func QueueFingerprints(b *pgx.Batch, rs []event.Receipt) {
	if len(rs) > 0 {
		columns := columnsOf(rs)
		b.Queue(updateFingerprints, columns[0], columns[1], columns[2], columns[5])
	}
}
