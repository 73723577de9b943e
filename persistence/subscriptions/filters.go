package subscriptions

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/delivery"
	"holdfast/persistence/postgres"
)

const recentEvents = `SELECT e.id::text FROM events AS e WHERE e.status = 'processed' ORDER BY e.id DESC LIMIT 10`

const (
	// filterTime limits the filters of an event in the step that processes it, and filterTimeOfMore adds to it for each further
	// event of a batch. A page may take longer, since reading and decoding a body of 25 MiB takes as long.
	filterTime, filterTimeOfMore, filterTimeOfPage = 20 * time.Millisecond, time.Millisecond, 200 * time.Millisecond
)

// timer begins when it is first asked, and so ignores how long the body of the first event takes to decode.
func timer(limit time.Duration) (isSpent func() bool) {
	var end time.Time
	return func() bool {
		now := time.Now()
		if end.IsZero() {
			end = now.Add(limit)
		}
		return now.After(end)
	}
}

// FilterBudget limits the time for the filters of n events together. What is left after that is for FinishMatching.
func (s *Store) FilterBudget(n int) (isSpent func() bool) {
	return s.Budget(filterTime + time.Duration(max(n-1, 0))*filterTimeOfMore)
}

// SlowestFilters returns the event among the last few processed ones whose filters take longest, without its body; false if there
// is none.
func (s *Store) SlowestFilters(ctx context.Context) (m delivery.Message, took time.Duration, found bool, err error) {
	const maxBytes = 16 << 20
	defer postgres.Annotate(&err, "measure filters")
	if err := s.Refresh(ctx); err != nil {
		return m, 0, false, err
	}
	ids, err := pgx.CollectRows(s.db.Rows(ctx, recentEvents), pgx.RowTo[string])
	if err != nil {
		return m, 0, false, err
	}
	messages, _, err := s.Messages(ctx, ids, maxBytes)
	for _, one := range messages {
		if t := s.cache.router.FilterTime(ctx, one); !found || t > took {
			m, took, found = one, t, true
		}
	}
	m.Body = nil
	return m, took, found, err
}
