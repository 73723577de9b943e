package minutes

import (
	"context"
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
 GROUP BY provider ORDER BY provider`
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
