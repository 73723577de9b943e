package duplicates

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

const (
	selectOwners = `
SELECT wanted.n, held.event_id::text, coalesce(held.fingerprint, ''), held.first_seen, coalesce(e.status, ''), coalesce(d.id, 0)
  FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS wanted (provider, key, n)
 CROSS JOIN LATERAL (
       SELECT event_id, fingerprint, first_seen FROM idempotency_keys
        WHERE provider = wanted.provider AND key = wanted.key OFFSET 0) AS held
  LEFT JOIN LATERAL (SELECT status FROM events WHERE id = held.event_id OFFSET 0) AS e ON true
  LEFT JOIN LATERAL (
       SELECT id FROM (SELECT id, subscription_id, state FROM dead_letters WHERE event_id = held.event_id OFFSET 0) AS of_event
        WHERE subscription_id = 0 AND state IN ('open', 'replaying', 'exhausted')) AS d ON true`

	// importingProviders uses the index on the start of imports.
	importingProviders = `SELECT DISTINCT unnest(providers) FROM imports WHERE started_at >= now() - $1::interval`
)

// Owners returns the events that own the keys of other events, in the same order; the ID is "" if a key has no owner.
func (s *Store) Owners(ctx context.Context, rs []event.Receipt) ([]event.Owner, error) {
	owners := make([]event.Owner, len(rs))
	var n int
	var o event.Owner
	b := &pgx.Batch{}
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	b.Queue(selectOwners, postgres.Column(rs, func(r event.Receipt) string { return postgres.Clean(r.Provider) }),
		postgres.Column(rs, func(r event.Receipt) string { return postgres.Clean(r.Key) })).
		Query(postgres.ForEach([]any{&n, &o.ID, &o.Fingerprint, &o.ReceivedAt, &o.Status, &o.DeadLetterID}, func() {
			owners[n-1] = o
		}))
	return owners, postgres.Failure("read the owners of keys", s.db.SendOnly(ctx, b))
}

// importsLast is how long after the start of an import senders may still repeat its events.
const importsLast = 30 * 24 * time.Hour

// ImportedProviders returns the providers whose keys were imported in the last days.
func (s *Store) ImportedProviders(ctx context.Context) ([]string, error) {
	providers, err := pgx.CollectRows(s.db.Rows(ctx, importingProviders, importsLast), pgx.RowTo[string])
	return providers, postgres.Failure("read the providers of imports", err)
}
