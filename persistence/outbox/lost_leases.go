package outbox

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/persistence/postgres"
)

// lockLost skips locked destinations: the lock may belong to the very transaction whose response is missing.
const lockLost = `
SELECT destination_id FROM destination_states
 WHERE destination_id = ANY ($1::bigint[]) ORDER BY destination_id FOR UPDATE SKIP LOCKED`

// releaseLeases runs after lockLost as a separate statement, so that it sees what was committed before the lock was free. The
// lease isn't counted (leases - 1), since nothing was attempted. The start times that the lease reserved under a rate stay
// unused. Locked rows are skipped, so that this transaction doesn't hold the destination's lock while it waits.
const releaseLeases = `
WITH mine AS MATERIALIZED (
     SELECT ctid AS place FROM delivery_queue
      WHERE ` + ofLost + ` FOR UPDATE SKIP LOCKED
), back AS (
     UPDATE delivery_queue AS q SET lease = NULL, leases = q.leases - 1, due_at = statement_timestamp()
       FROM mine WHERE q.ctid = mine.place
  RETURNING q.destination_id
)
UPDATE destination_states AS s SET held = '', next_at = statement_timestamp()
  FROM (SELECT DISTINCT destination_id FROM back) AS b
 WHERE s.destination_id = b.destination_id AND s.held IN ('', 'full', 'rate')`

// ofLost selects the deliveries of destinations $1 that the lost lease $2 still holds.
const ofLost = `destination_id = ANY ($1::bigint[]) AND lease IS NOT NULL AND due_at > statement_timestamp() AND lease = $2::uuid`

// leftOfLost selects the destinations for which releaseLeases has skipped a row.
const leftOfLost = `SELECT DISTINCT destination_id FROM delivery_queue WHERE ` + ofLost

// lostLease is a lease whose response is missing. It may have been committed, or may be committed later. No process has received
// its deliveries, and they count as in flight until the lease ends.
type lostLease struct {
	id           string
	destinations []int64
	until        time.Time // by this machine's clock
}

type lostLeases struct {
	mu  sync.Mutex
	all []lostLease
}

func (l *lostLeases) add(lost ...lostLease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, lost...)
}

func (l *lostLeases) take() []lostLease {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.all
	l.all = nil
	return all
}

// lost returns this round's lease, in case its response is missing.
func (l *leaseRound) lost() lostLease {
	lost := lostLease{id: l.lease, destinations: l.ids()}
	for _, d := range l.due {
		if until := l.began.Add(d.limits.timeout + leaseMargin); until.After(lost.until) {
			lost.until = until
		}
	}
	return lost
}

// releaseLost makes the deliveries of this process's lost leases due again. If it has to skip some, it retries them in the next
// round, until the lease has ended.
func (s *Store) releaseLost(ctx context.Context) {
	for _, lost := range s.lost.take() {
		if left := s.releaseLeases(ctx, lost); len(left.destinations) > 0 && time.Now().Before(left.until) {
			s.lost.add(left)
		}
	}
}

// releaseLeases makes the deliveries of the lease due again. It returns the lease with the destinations that have skipped
// deliveries: all of them if the database is unavailable, which the next lease reports.
func (s *Store) releaseLeases(ctx context.Context, lost lostLease) (left lostLease) {
	var free, passed []int64
	b := &pgx.Batch{}
	b.Queue(lockLost, lost.destinations).Query(postgres.Collect(&free, pgx.RowTo[int64]))
	tx, err := s.db.BeginAsync(ctx, b)
	if err != nil {
		return lost
	}
	defer tx.Rollback(ctx)
	last := &pgx.Batch{}
	last.Queue(releaseLeases, free, lost.id)
	last.Queue(leftOfLost, free, lost.id).Query(postgres.Collect(&passed, pgx.RowTo[int64]))
	if err := tx.Commit(ctx, last); err != nil {
		return lost
	}
	lost.destinations = slices.DeleteFunc(lost.destinations, func(id int64) bool {
		return slices.Contains(free, id) && !slices.Contains(passed, id)
	})
	return lost
}
