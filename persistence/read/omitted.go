package read

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/persistence/postgres"
)

// countOmitting reads the events in the order of their IDs: OFFSET keeps the planner from walking an index of all providers.
const countOmitting = `
SELECT provider, count(*)
  FROM (SELECT provider FROM events WHERE omitted IS NOT NULL AND id >= $1::uuid ORDER BY id OFFSET 0) AS recent
 GROUP BY provider ORDER BY provider`

// Omitting counts the events since a time that left out entities because of a limit, by provider.
func (s *Store) Omitting(ctx context.Context, since time.Time) ([]oversight.OmittingEvents, error) {
	rows := s.db.Rows(ctx, countOmitting, event.FirstIDAt(since))
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[oversight.OmittingEvents])
	return found, postgres.Failure("count events that left out entities", err)
}
