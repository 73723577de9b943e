package minutes

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"holdfast/persistence/postgres"
)

const (
	flushEvery   = 5 * time.Second
	flushTimeout = 5 * time.Second
	// maxBuckets bounds what is kept in memory while the database is unavailable.
	maxBuckets = 10_000
)

// Store counts by time. It is safe for concurrent use.
type Store struct{ db *postgres.DB }

// New makes a Store.
func New(db *postgres.DB) *Store { return &Store{db} }

// counter keeps a few counts per name and bucket of time, and writes them in the background: add never waits, and never fails.
// While the database is unavailable the counts stay in memory; beyond a limit they are per hour. A process that is killed loses
// those of the last seconds.
type counter struct {
	*postgres.Flusher

	// width is the length of a bucket; an hour is a multiple of it.
	width time.Duration
	// write adds the counts of some buckets, in the given order.
	write func(ctx context.Context, of []bucket, all map[bucket]counts) error

	mu      sync.Mutex
	pending map[bucket]counts
}

type bucket struct {
	of string
	at int64 // when it begins, in seconds since 1970
}

// counts has as many counts as the table with the most; the others leave the last ones zero.
type counts [3]int64

func (n counts) plus(more counts) counts {
	for i := range more {
		n[i] += more[i]
	}
	return n
}

// table says how a counter writes.
type table struct {
	// add adds counts: $1 are names, $2 the beginnings of buckets, and from $3 on there are columns arrays of counts.
	add     string
	columns int
	width   time.Duration
}

// start runs a counter.
func (s *Store) start(t table) *counter {
	c := &counter{Flusher: postgres.NewFlusher(), width: t.width, pending: map[bucket]counts{}}
	c.write = func(ctx context.Context, of []bucket, all map[bucket]counts) error {
		args := []any{
			postgres.Column(of, func(b bucket) string { return b.of }),
			postgres.Column(of, func(b bucket) time.Time { return time.Unix(b.at, 0) }),
		}
		for i := range t.columns {
			args = append(args, postgres.Column(of, func(b bucket) int64 { return all[b][i] }))
		}
		_, err := s.db.Exec(ctx, t.add, args...)
		return postgres.Failure("count by the minute", err)
	}
	go c.Run(flushEvery, func(time.Time, bool) { c.flush() })
	return c
}

func (c *counter) add(name string, at time.Time, n counts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := bucket{name, at.Truncate(c.width).Unix()}
	if _, has := c.pending[of]; !has && len(c.pending) >= maxBuckets {
		of.at = at.Truncate(time.Hour).Unix()
	}
	c.pending[of] = c.pending[of].plus(n)
}

// flush writes what is pending. What can't be written is tried again with the next flush.
func (c *counter) flush() {
	c.mu.Lock()
	all := c.pending
	c.pending = map[bucket]counts{}
	c.mu.Unlock()
	if len(all) == 0 {
		return
	}
	inOrder := slices.SortedFunc(maps.Keys(all), func(a, b bucket) int { // so that two processes never wait for each other
		return cmp.Or(cmp.Compare(a.of, b.of), cmp.Compare(a.at, b.at))
	})
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	if c.write(ctx, inOrder, all) == nil {
		return
	}
	for _, of := range inOrder {
		c.add(of.of, time.Unix(of.at, 0), all[of])
	}
}
