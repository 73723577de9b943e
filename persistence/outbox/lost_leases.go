package outbox

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// lockLost passes over the destinations that somebody holds: it may be the very transaction whose answer is missing.
const lockLost = `
SELECT destination_id FROM destination_states
 WHERE destination_id = ANY ($1::bigint[]) ORDER BY destination_id FOR UPDATE SKIP LOCKED`

// giveBack is another statement than lockLost, so that it sees what was committed before the lock was free. What nobody has tried
// does not count as tried.
const giveBack = `
WITH back AS (
     UPDATE delivery_queue SET lease = NULL, leases = leases - 1, due_at = statement_timestamp()
      WHERE destination_id = ANY ($1::bigint[]) AND lease IS NOT NULL AND due_at > statement_timestamp() AND lease = $2::uuid
  RETURNING destination_id
)
UPDATE destination_states SET held = '', next_at = statement_timestamp()
 WHERE destination_id IN (SELECT destination_id FROM back) AND held IN ('', 'full')`

// lostLease is one whose answer has not come. It may have been committed, or be so any moment; nobody has its deliveries, and
// until it ends they count as under way.
type lostLease struct {
	id           string
	destinations []int64
	until        time.Time // by this machine's clock
}

// lostLeases are those of this process.
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

// lost is this look's lease, should its answer not come.
func (l *look) lost() lostLease {
	lost := lostLease{id: l.lease, destinations: l.ids()}
	for _, d := range l.due {
		if until := l.began.Add(d.limits.timeout + leaseMargin); until.After(lost.until) {
			lost.until = until
		}
	}
	return lost
}

// giveBackLost makes due again what the lost leases of this process have taken. What it cannot give back yet it tries at the next
// look, until the lease would have ended anyway.
func (s *Store) giveBackLost(ctx context.Context) error {
	all := s.lost.take()
	for i, lost := range all {
		if time.Now().After(lost.until) {
			continue
		}
		left, err := s.giveBack(ctx, lost)
		if err != nil {
			s.lost.add(all[i:]...)
			return err
		}
		if len(left.destinations) > 0 {
			s.lost.add(left)
		}
	}
	return nil
}

func (s *Store) giveBack(ctx context.Context, lost lostLease) (left lostLease, err error) {
	var free []int64
	b := &pgx.Batch{}
	b.Queue(loseLater)
	b.Queue(lockLost, lost.destinations).Query(func(rows pgx.Rows) (err error) {
		free, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	})
	tx, err := s.db.Begin(ctx, b)
	if err != nil {
		return lost, err
	}
	defer tx.Rollback(ctx)
	last := &pgx.Batch{}
	last.Queue(giveBack, free, lost.id)
	if err := tx.Commit(ctx, last); err != nil {
		return lost, err
	}
	lost.destinations = slices.DeleteFunc(lost.destinations, func(id int64) bool { return slices.Contains(free, id) })
	return lost, nil
}
