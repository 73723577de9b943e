package outbox

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/persistence/postgres"
)

// lockLost passes over the destinations that somebody holds: it may be the very transaction whose answer is missing.
const lockLost = `
SELECT destination_id FROM destination_states
 WHERE destination_id = ANY ($1::bigint[]) ORDER BY destination_id FOR UPDATE SKIP LOCKED`

// giveBack is another statement than lockLost, so that it sees what was committed before the lock was free. What nobody has
// tried does not count as tried. The start times that it had under a rate are gone: nothing is sent at them. A row that
// somebody holds is passed over: nobody else is to wait for it meanwhile.
const giveBack = `
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

// ofLost are the deliveries of the lost lease $2 among destinations, while it lasts.
const ofLost = `destination_id = ANY ($1::bigint[]) AND lease IS NOT NULL AND due_at > statement_timestamp() AND lease = $2::uuid`

// leftOfLost are the destinations of which giveBack has passed something over.
const leftOfLost = `SELECT DISTINCT destination_id FROM delivery_queue WHERE ` + ofLost

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
// look, until the lease has ended.
func (s *Store) giveBackLost(ctx context.Context) {
	for _, lost := range s.lost.take() {
		if left := s.giveBack(ctx, lost); len(left.destinations) > 0 && time.Now().Before(left.until) {
			s.lost.add(left)
		}
	}
}

// giveBack gives what is left of it: all of it where the database could not be asked, which the lease that follows will tell.
func (s *Store) giveBack(ctx context.Context, lost lostLease) (left lostLease) {
	var free, passed []int64
	b := &pgx.Batch{}
	b.Queue(postgres.LoseLater)
	b.Queue(lockLost, lost.destinations).Query(collectIDs(&free))
	tx, err := s.db.Begin(ctx, b)
	if err != nil {
		return lost
	}
	defer tx.Rollback(ctx)
	last := &pgx.Batch{}
	last.Queue(giveBack, free, lost.id)
	last.Queue(leftOfLost, free, lost.id).Query(collectIDs(&passed))
	if err := tx.Commit(ctx, last); err != nil {
		return lost
	}
	lost.destinations = slices.DeleteFunc(lost.destinations, func(id int64) bool {
		return slices.Contains(free, id) && !slices.Contains(passed, id)
	})
	return lost
}

func collectIDs(into *[]int64) func(pgx.Rows) error {
	return func(rows pgx.Rows) (err error) {
		*into, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	}
}
