package minutes

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/persistence/postgres"
)

const (
	addMapped = `
INSERT INTO mapped_minutes AS m (provider, minute, mapped, unmapped)
SELECT provider, minute, mapped, unmapped
  FROM unnest($1::text[], $2::timestamptz[], $3::bigint[], $4::bigint[]) AS n (provider, minute, mapped, unmapped)
ON CONFLICT (provider, minute) DO UPDATE SET mapped = m.mapped + excluded.mapped, unmapped = m.unmapped + excluded.unmapped`

	// PurgeMapped removes up to $2 counts of minutes before $1.
	PurgeMapped = `
DELETE FROM mapped_minutes
 WHERE ctid = ANY (ARRAY(SELECT ctid FROM mapped_minutes WHERE minute < $1 LIMIT $2 FOR UPDATE SKIP LOCKED))`

	countMapped = `
SELECT provider, sum(mapped)::bigint, sum(unmapped)::bigint FROM mapped_minutes
 WHERE minute > statement_timestamp() - interval '1 day'
 GROUP BY provider HAVING sum(mapped + unmapped) > 0 ORDER BY provider`

	// recountMapped replaces the counts of the minutes after $2 until $3 and adds to earlier ones, of $1 or all providers. It
	// locks rows in the order in which counters do.
	recountMapped = `
INSERT INTO mapped_minutes AS m (provider, minute, mapped, unmapped)
SELECT provider, minute, coalesce(n.mapped, 0), coalesce(n.unmapped, 0)
  FROM (SELECT provider, minute FROM mapped_minutes
         WHERE ($1 = '' OR provider = $1) AND minute > $2 AND minute <= $3
           AND minute > statement_timestamp() - interval '1 day') AS known
  FULL JOIN unnest($4::text[], $5::timestamptz[], $6::bigint[], $7::bigint[]) AS n (provider, minute, mapped, unmapped)
       USING (provider, minute)
 ORDER BY provider, minute
ON CONFLICT (provider, minute) DO UPDATE
   SET mapped = excluded.mapped + CASE WHEN m.minute > $2 THEN 0 ELSE m.mapped END,
       unmapped = excluded.unmapped + CASE WHEN m.minute > $2 THEN 0 ELSE m.unmapped END`
)

// MappingCounter counts events for which rules for entities are meant, in the background.
type MappingCounter struct{ *counter }

// NewMappingCounter starts a counter; Stop writes what is left and ends it.
func (s *Store) NewMappingCounter() *MappingCounter {
	return &MappingCounter{s.start(table{addMapped, 2, time.Minute})}
}

// Count counts an event of a provider, by whether the rules found an entity in it.
func (c *MappingCounter) Count(provider string, m event.Mapping) {
	switch m {
	case event.Mapped:
		c.add(provider, time.Now(), counts{1})
	case event.Unmapped:
		c.add(provider, time.Now(), counts{0, 1})
	}
}

// Mapped counts the events of the last day for which rules for entities are meant, by provider.
func (s *Store) Mapped(ctx context.Context) ([]oversight.MappedEvents, error) {
	found, err := pgx.CollectRows(s.db.Rows(ctx, countMapped), pgx.RowToStructByPos[oversight.MappedEvents])
	return found, postgres.Failure("count mapped events", err)
}

// Recount counts the events of a time range again, as their rules are now. They are counted by the minute in which they were
// accepted: at first they were counted a little later, when they were stored.
type Recount struct{ counts map[bucket]counts }

// Count counts an event, unless it was accepted over a day ago.
func (r *Recount) Count(provider string, accepted time.Time, m event.Mapping) {
	if time.Since(accepted) > 24*time.Hour {
		return
	}
	var one counts
	switch m {
	case event.Mapped:
		one = counts{1}
	case event.Unmapped:
		one = counts{0, 1}
	default:
		return
	}
	if r.counts == nil {
		r.counts = map[bucket]counts{}
	}
	of := bucket{provider, accepted.Truncate(time.Minute).Unix()}
	r.counts[of] = r.counts[of].plus(one)
}

// Queue replaces what was counted of a provider, or of all for "", after the minute of the first time until that of the second.
// The minute of the first one belongs to the part before, and is added to.
func (r *Recount) Queue(b *pgx.Batch, provider string, after, until time.Time) {
	if time.Since(until) > 24*time.Hour {
		return
	}
	of := slices.Collect(maps.Keys(r.counts))
	b.Queue(recountMapped, provider, after.Truncate(time.Minute), until.Truncate(time.Minute),
		postgres.Column(of, func(b bucket) string { return b.of }),
		postgres.Column(of, func(b bucket) time.Time { return time.Unix(b.at, 0) }),
		postgres.Column(of, func(b bucket) int64 { return r.counts[b][0] }),
		postgres.Column(of, func(b bucket) int64 { return r.counts[b][1] }))
}
