package read

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

const selectDuplicates = `SELECT times, first_seen, last_seen FROM event_duplicates WHERE event_id = $1::uuid`

// Duplicates returns how many duplicates of an event arrived; zero if there were none.
func (s *Store) Duplicates(ctx context.Context, eventID string) (d event.Duplicates, err error) {
	err = s.db.QueryRow(ctx, selectDuplicates, eventID).Scan(&d.Times, &d.FirstSeen, &d.LastSeen)
	if errors.Is(err, pgx.ErrNoRows) {
		return event.Duplicates{}, nil
	}
	d.FirstSeen, d.LastSeen = d.FirstSeen.UTC(), d.LastSeen.UTC()
	return d, postgres.Failure("read duplicates of event "+postgres.Clean(eventID), err)
}
