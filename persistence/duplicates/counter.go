package duplicates

import (
	"context"
	"sync"
	"time"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

const (
	// countEvery is the pause between two writes of counts.
	countEvery   = 5 * time.Second
	flushTimeout = 5 * time.Second
	// maxCounted bounds the events counted between two writes, or while the database is unavailable; further ones are not counted.
	maxCounted = 5000
)

// Counter counts duplicate events. Count never waits or fails, and costs a lock and a map entry; the counts are written
// in one statement every few seconds, and at the end.
type Counter struct {
	*postgres.Flusher

	write func(context.Context, map[duplicateKey]counted) error
	mu    sync.Mutex
	seen  map[duplicateKey]counted
}

// NewCounter starts a counter; Stop writes the remaining counts and ends it.
func (s *Store) NewCounter() *Counter {
	c := newCounter(s.addDuplicates)
	go c.Run(countEvery, func(time.Time, bool) { c.flush() })
	return c
}

func newCounter(write func(context.Context, map[duplicateKey]counted) error) *Counter {
	return &Counter{Flusher: postgres.NewFlusher(), write: write, seen: map[duplicateKey]counted{}}
}

// Count counts one duplicate.
func (c *Counter) Count(d event.Duplicate) {
	of := duplicateKey{owner: ownerOf(d.Owner)}
	if of.owner == "" {
		of.provider, of.key = d.Provider, d.Key
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	one := counted{times: 1, first: d.At, last: d.At}
	if d.Rewritten {
		one.rewritten = 1
	}
	c.add(of, one)
}

func (c *Counter) add(of duplicateKey, more counted) {
	if before, known := c.seen[of]; known || len(c.seen) < maxCounted {
		c.seen[of] = before.and(more)
	}
}

// flush writes the counts. Counts that can't be written are added to the next ones.
func (c *Counter) flush() {
	c.mu.Lock()
	counts := c.seen
	c.seen = map[duplicateKey]counted{}
	c.mu.Unlock()
	if len(counts) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	if c.write(ctx, counts) == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for of, n := range counts {
		c.add(of, n)
	}
}
