package writer

import (
	"cmp"
	"slices"

	"github.com/jackc/pgx/v5"

	"holdfast/persistence/postgres"
)

// A processed event stays processed, whatever key the current definition finds in it. It claims that key only if no other event has
// it, so that its redeliveries are duplicates.

const (
	claimFreeKeys = insertKeys + `
  FROM unnest($1::text[], $2::text[], $3::uuid[], $4::timestamptz[], $5::bigint[], $6::text[])
       AS claim (provider, key, event_id, seen, microseconds, fingerprint)
 WHERE ` + isUndecided + ` ON CONFLICT (provider, key) DO NOTHING`

	// selectSharedKeys returns the events whose key another event has, within the window of the key.
	selectSharedKeys = `
SELECT claim.event_id::text, held.event_id::text
  FROM unnest($1::text[], $2::text[], $3::uuid[], $4::timestamptz[], $5::bigint[])
       AS claim (provider, key, event_id, seen, microseconds)
 CROSS JOIN LATERAL (
       SELECT event_id, first_seen FROM idempotency_keys
        WHERE provider = claim.provider AND key = claim.key OFFSET 0) AS held
 WHERE held.event_id <> claim.event_id
   AND (claim.microseconds <= 0
        OR held.first_seen - claim.seen < claim.microseconds * interval '1 microsecond'
       AND claim.seen - held.first_seen < claim.microseconds * interval '1 microsecond')`
)

// rekeyed returns a write of each event's key by the current definition, where that differs, in the order in which all transactions
// lock keys.
func rekeyed(ws []*write) (all []*write) {
	for _, w := range ws {
		if i := w.parsed.Identity; i != nil && i.Key != w.receipt.Key {
			all = append(all, &write{receipt: w.receipt.IdentifiedAs(*i)})
		}
	}
	slices.SortFunc(all, func(a, b *write) int {
		return cmp.Or(cmp.Compare(a.provider(), b.provider()), cmp.Compare(a.receipt.Key, b.receipt.Key),
			cmp.Compare(a.receipt.ID, b.receipt.ID))
	})
	return all
}

// queueFreeClaims claims the keys that the current definition finds in events, where no other event has them.
func queueFreeClaims(b *pgx.Batch, all []*write) {
	b.Queue(lockEvents, postgres.Column(all, (*write).id))
	b.Queue(claimFreeKeys, columnsOfClaims(all)...)
}

// QueueKeys claims the keys that the current definition finds in processed events, where no other event has them; a trial claims
// none. shared gets each event whose key another event, the owner, has.
func QueueKeys(b *pgx.Batch, events []*Reparsed, isTrial bool, shared func(id, owner string)) {
	all := rekeyed(writesOfReparsed(events))
	if len(all) == 0 {
		return
	}
	if !isTrial {
		queueFreeClaims(b, all)
	}
	var id, owner string
	b.Queue(selectSharedKeys, columnsOfClaims(all)[:5]...).Query(postgres.ForEach([]any{&id, &owner}, func() { shared(id, owner) }))
}
