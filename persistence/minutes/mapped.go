package errorlog

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/persistence/postgres"
)

const (
	addMapped = `
INSERT INTO mapped_minutes AS m (provider, minute, mapped)
SELECT provider, minute, events FROM unnest($1::text[], $2::timestamptz[], $3::bigint[]) AS n (provider, minute, events)
ON CONFLICT (provider, minute) DO UPDATE SET mapped = m.mapped + excluded.mapped`

	addUnmapped = `
INSERT INTO mapped_minutes AS m (provider, minute, unmapped)
SELECT provider, minute, events FROM unnest($1::text[], $2::timestamptz[], $3::bigint[]) AS n (provider, minute, events)
ON CONFLICT (provider, minute) DO UPDATE SET unmapped = m.unmapped + excluded.unmapped`

	// PurgeMapped removes up to $2 counts of minutes before $1.
	PurgeMapped = `
DELETE FROM mapped_minutes
 WHERE ctid = ANY (ARRAY(SELECT ctid FROM mapped_minutes WHERE minute < $1 LIMIT $2 FOR UPDATE SKIP LOCKED))`

	countMapped = `
SELECT provider, sum(mapped)::bigint, sum(unmapped)::bigint FROM mapped_minutes
 WHERE minute > statement_timestamp() - interval '1 day'
 GROUP BY provider ORDER BY provider`
)

// MappingCounter counts events for which rules for entities are meant, by whether the rules found any (see MinuteCounter).
type MappingCounter struct{ mapped, unmapped *MinuteCounter }

// NewMappingCounter starts a counter; Stop writes what is left and ends it.
func (s *Store) NewMappingCounter() *MappingCounter {
	return &MappingCounter{mapped: s.newMinuteCounter(addMapped), unmapped: s.newMinuteCounter(addUnmapped)}
}

// Count counts an event of a provider.
func (c *MappingCounter) Count(provider string, m event.Mapping) {
	switch m {
	case event.Mapped:
		c.mapped.Count(provider, time.Now())
	case event.Unmapped:
		c.unmapped.Count(provider, time.Now())
	}
}

// Stop writes what is left and ends the counter.
func (c *MappingCounter) Stop(ctx context.Context) error {
	return errors.Join(c.mapped.Stop(ctx), c.unmapped.Stop(ctx))
}

// Mapped counts the events of the last day for which rules for entities are meant, by provider.
func (s *Store) Mapped(ctx context.Context) ([]oversight.MappedEvents, error) {
	found, err := pgx.CollectRows(s.db.Rows(ctx, countMapped), pgx.RowToStructByPos[oversight.MappedEvents])
	return found, postgres.Failure("count mapped events", err)
}
