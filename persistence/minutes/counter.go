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
	// maxMinutes bounds what is kept in memory while the database is unavailable.
	maxMinutes = 10_000
)

// Store counts by the minute. It is safe for concurrent use.
type Store struct{ db *postgres.DB }

// New makes a Store.
func New(db *postgres.DB) *Store { return &Store{db} }

// counter keeps two counts per provider and minute, and writes them in the background: add never waits, and never fails. While
// the database is unavailable the counts stay in memory; beyond a limit they are per hour. A process that is killed loses those
// of the last seconds.
type counter struct {
	*postgres.Flusher

	// write adds the counts of some minutes, in the given order.
	write func(ctx context.Context, of []minute, all map[minute]counts) error

	mu      sync.Mutex
	pending map[minute]counts
}

type minute struct {
	provider string
	at       int64 // in seconds since 1970
}

type counts [2]int64

// start runs a counter with a statement that adds its counts: $1 are providers, $2 minutes, $3 and $4 the counts.
func (s *Store) start(add string) *counter {
	c := &counter{Flusher: postgres.NewFlusher(), pending: map[minute]counts{}}
	c.write = func(ctx context.Context, of []minute, all map[minute]counts) error {
		_, err := s.db.Exec(ctx, add, postgres.Column(of, func(m minute) string { return m.provider }),
			postgres.Column(of, func(m minute) time.Time { return time.Unix(m.at, 0) }),
			postgres.Column(of, func(m minute) int64 { return all[m][0] }),
			postgres.Column(of, func(m minute) int64 { return all[m][1] }))
		return postgres.Failure("count by the minute", err)
	}
	go c.Run(flushEvery, func(time.Time, bool) { c.flush() })
	return c
}

func (c *counter) add(provider string, at time.Time, n counts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := minute{provider, at.Truncate(time.Minute).Unix()}
	if _, has := c.pending[of]; !has && len(c.pending) >= maxMinutes {
		of.at = at.Truncate(time.Hour).Unix()
	}
	before := c.pending[of]
	c.pending[of] = counts{before[0] + n[0], before[1] + n[1]}
}

// flush writes what is pending. What can't be written is tried again with the next flush.
func (c *counter) flush() {
	c.mu.Lock()
	all := c.pending
	c.pending = map[minute]counts{}
	c.mu.Unlock()
	if len(all) == 0 {
		return
	}
	inOrder := slices.SortedFunc(maps.Keys(all), func(a, b minute) int { // so that two processes never wait for each other
		return cmp.Or(cmp.Compare(a.provider, b.provider), cmp.Compare(a.at, b.at))
	})
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	if c.write(ctx, inOrder, all) == nil {
		return
	}
	for _, of := range inOrder {
		c.add(of.provider, time.Unix(of.at, 0), all[of])
	}
}
