package outbox

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"

	"holdfast/persistence/postgres"
)

// arm makes destinations due now. It skips those with an open breaker, at their max in flight, or at their rate limit: their
// next_at is when that ends. The rows are locked in the common order.
//
// It reads next_at without waiting for a lease in progress, and the lease doesn't see rows inserted meanwhile. So both check
// after their own commit, and the second one finds the delivery: the process that queued it with arm, the lease with recheck.
const arm = `
WITH asleep AS MATERIALIZED (
     SELECT destination_id FROM destination_states
      WHERE destination_id = ANY ($1::bigint[]) AND state = 'ready' AND held = '' AND next_at > statement_timestamp()
      ORDER BY destination_id FOR UPDATE
)
UPDATE destination_states AS s SET next_at = statement_timestamp()
  FROM asleep WHERE s.destination_id = asleep.destination_id`

// rearm reads the first entry of each destination in the queue, which costs one index descent per destination, however many
// deliveries there are. It inserts the row of a destination that has none.
const rearm = `
INSERT INTO destination_states AS s (destination_id, next_at)
WITH RECURSIVE firsts (destination_id, due_at) AS (
     (SELECT destination_id, due_at FROM delivery_queue ORDER BY destination_id, due_at LIMIT 1)
      UNION ALL
     SELECT following.destination_id, following.due_at
       FROM firsts CROSS JOIN LATERAL (
            SELECT destination_id, due_at FROM delivery_queue AS q
             WHERE q.destination_id > firsts.destination_id ORDER BY q.destination_id, q.due_at LIMIT 1) AS following
)
SELECT f.destination_id, f.due_at
  FROM firsts AS f LEFT JOIN destination_states AS known USING (destination_id)
 WHERE known.destination_id IS NULL OR known.low_at > f.due_at
    OR (known.state = 'ready' AND known.held = '' AND known.next_at > f.due_at)
 ORDER BY f.destination_id
ON CONFLICT (destination_id) DO UPDATE
   SET next_at = CASE s.held WHEN '' THEN least(s.next_at, excluded.next_at) ELSE s.next_at END,
       low_at = least(s.low_at, excluded.next_at)`

// madeDue holds the destinations for which this process has committed due deliveries. The next Lease makes them due (arm).
type madeDue struct {
	mu  sync.Mutex
	ids map[int64]struct{}
}

func (m *madeDue) add(ids []int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ids == nil {
		m.ids = map[int64]struct{}{}
	}
	for _, id := range ids {
		m.ids[id] = struct{}{}
	}
}

func (m *madeDue) take() []int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	ids := slices.Sorted(maps.Keys(m.ids))
	clear(m.ids)
	return ids
}

// MadeDue records that this process has committed due deliveries to these destinations. It doesn't wait: the next Lease wakes
// them. If the process dies before, or doesn't dispatch, Rearm finds them.
func (s *Store) MadeDue(destinations ...int64) {
	if len(destinations) == 0 {
		return
	}
	s.due.add(destinations)
	s.Signal()
}

// Signal sends a value to Wakes, unless one is pending.
func (s *Store) Signal() {
	s.isIdle.Store(false)
	select {
	case s.wakes <- struct{}{}:
	default:
	}
}

// wake is MadeDue for processes that may not dispatch, such as the CLI or the API: other processes see the destinations
// immediately, too. If it fails, Rearm finds them.
func (s *Store) wake(ctx context.Context, destination int64) {
	b := &pgx.Batch{}
	b.Queue(postgres.CommitAsync)
	b.Queue(arm, []int64{destination})
	_ = s.db.SendOnly(ctx, b)
	s.Signal()
}

// Rearm finds deliveries that are or will be due and that no dispatcher would check, because a process died between its
// commit and the wake, or they were committed long after they were queued. Every process that dispatches calls it every few
// seconds.
func (s *Store) Rearm(ctx context.Context) error {
	_, err := s.db.Exec(ctx, rearm)
	return postgres.Failure("rearm destinations", err)
}
