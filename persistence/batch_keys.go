package persistence

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
)

const (
	// claimKeys is claimKey for many. The window is what lies between the two times of the row that is refused, compared as
	// times and not added to one, since a day of an interval is not always 24 hours.
	claimKeys = `
INSERT INTO idempotency_keys AS held (provider, key, event_id, first_seen, expires_at)
SELECT provider, key, event_id, seen, CASE WHEN microseconds > 0 THEN seen + microseconds * interval '1 microsecond' END
  FROM unnest($1::text[], $2::text[], $3::uuid[], $4::timestamptz[], $5::bigint[])
       AS claim (provider, key, event_id, seen, microseconds)
ON CONFLICT (provider, key) DO UPDATE
   SET event_id = excluded.event_id, first_seen = excluded.first_seen, expires_at = excluded.expires_at
 WHERE held.event_id <> excluded.event_id AND excluded.expires_at IS NOT NULL
   AND excluded.first_seen - held.first_seen >= excluded.expires_at - excluded.first_seen
RETURNING event_id::text`

	ownersOfKeys = `
SELECT wanted.n, held.event_id::text, coalesce(e.status, '')
  FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS wanted (provider, key, n)
  JOIN idempotency_keys AS held ON held.provider = wanted.provider AND held.key = wanted.key
  LEFT JOIN events AS e ON e.id = held.event_id`
)

// claimAll sets the savepoint, and gives the events that own their key now, in the order of their keys. The others are
// duplicates, or leave the batch.
func (t *batch) claimAll(ctx context.Context, events []*batched) (claimed []*batched, err error) {
	sorted := slices.Clone(events)
	slices.SortFunc(sorted, func(a, b *batched) int {
		return cmp.Or(cmp.Compare(a.Receipt.Provider, b.Receipt.Provider), cmp.Compare(a.Receipt.Key, b.Receipt.Key))
	})
	owned := make(map[string]bool, len(events))
	b := &pgx.Batch{}
	b.Queue("savepoint part")
	queueClaims(b, sorted, owned)
	if err := t.send(ctx, b); err != nil {
		return nil, err
	}
	var others []*batched
	for _, e := range sorted {
		if owned[e.Receipt.ID] {
			claimed = append(claimed, e)
		} else {
			others = append(others, e)
		}
	}
	return claimed, t.judge(ctx, others)
}

func queueClaims(b *pgx.Batch, events []*batched, owned map[string]bool) {
	n := len(events)
	providers, keys, ids := make([]string, n), make([]string, n), make([]string, n)
	seen, windows := make([]time.Time, n), make([]int64, n)
	for i, e := range events {
		r := &e.Receipt
		providers[i], keys[i], ids[i] = clean(r.Provider), clean(r.Key), r.ID
		seen[i], windows[i] = r.ReceivedAt, time.Duration(r.DedupeWindow).Microseconds()
	}
	b.Queue(claimKeys, providers, keys, ids, seen, windows).Query(func(rows pgx.Rows) error {
		var id string
		_, err := pgx.ForEachRow(rows, []any{&id}, func() error { owned[id] = true; return nil })
		return err
	})
}

// judge tells duplicates from events whose owner is in trouble, and from those that are under way somewhere else.
func (t *batch) judge(ctx context.Context, others []*batched) error {
	if len(others) == 0 {
		return nil
	}
	providers, keys := make([]string, len(others)), make([]string, len(others))
	for i, e := range others {
		providers[i], keys[i] = clean(e.Receipt.Provider), clean(e.Receipt.Key)
	}
	found := 0
	b := &pgx.Batch{}
	b.Queue(ownersOfKeys, providers, keys).Query(func(rows pgx.Rows) error {
		var n int
		var owner string
		var status event.Status
		_, err := pgx.ForEachRow(rows, []any{&n, &owner, &status}, func() error {
			found++
			e := others[n-1]
			if owner == e.Receipt.ID || status != "" && status != event.StatusProcessed {
				e.leave(errInTrouble)
			} else {
				e.Outcome, e.Owner = event.OutcomeDuplicate, owner
			}
			return nil
		})
		return err
	})
	if err := t.send(ctx, b); err != nil {
		return err
	}
	if found < len(others) {
		return errKeyVanished
	}
	return nil
}
