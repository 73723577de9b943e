package errorlog

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"holdfast/persistence/postgres"
)

const (
	refusedFlushEvery = 5 * time.Second
	// maxRefusedMinutes bounds what is kept in memory while the database is unavailable.
	maxRefusedMinutes = 10_000

	// addRefused adds to the counts of other processes, in one order, so that two never wait for each other.
	addRefused = `
INSERT INTO refused_minutes AS m (provider, minute, requests)
SELECT provider, minute, requests FROM unnest($1::text[], $2::timestamptz[], $3::bigint[]) AS n (provider, minute, requests)
ON CONFLICT (provider, minute) DO UPDATE SET requests = m.requests + excluded.requests`

	// PurgeRefused removes up to $2 counts of minutes before $1.
	PurgeRefused = `
DELETE FROM refused_minutes
 WHERE ctid = ANY (ARRAY(SELECT ctid FROM refused_minutes WHERE minute < $1 AND provider <> '' LIMIT $2 FOR UPDATE SKIP LOCKED))`
)

// RefusedCounter counts refused requests per provider and minute in the background: Count never waits, and never fails. While the
// database is unavailable the counts stay in memory; beyond a limit they are per hour. A process that is killed loses those of
// the last seconds.
type RefusedCounter struct {
	*postgres.Flusher

	write func(context.Context, []refusedMinute) error

	mu      sync.Mutex
	pending map[refusedKey]int64
}

type refusedKey struct {
	provider string
	minute   int64 // in seconds since 1970
}

type refusedMinute struct {
	provider string
	at       time.Time
	requests int64
}

// NewRefusedCounter starts a counter; Stop writes what is left and ends it.
func (s *Store) NewRefusedCounter() *RefusedCounter {
	c := &RefusedCounter{Flusher: postgres.NewFlusher(), write: s.addRefused, pending: map[refusedKey]int64{}}
	go c.Run(refusedFlushEvery, func(time.Time, bool) { c.flush() })
	return c
}

// Count counts a request to a provider that came at a time and wasn't accepted.
func (c *RefusedCounter) Count(provider string, at time.Time) { c.add(provider, at, 1) }

func (c *RefusedCounter) add(provider string, at time.Time, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := refusedKey{provider, at.Truncate(time.Minute).Unix()}
	if _, has := c.pending[key]; !has && len(c.pending) >= maxRefusedMinutes {
		key.minute = at.Truncate(time.Hour).Unix()
	}
	c.pending[key] += n
}

// flush writes what is pending. What can't be written is tried again with the next flush.
func (c *RefusedCounter) flush() {
	c.mu.Lock()
	pending := c.pending
	c.pending = map[refusedKey]int64{}
	c.mu.Unlock()
	if len(pending) == 0 {
		return
	}
	var all []refusedMinute
	for key, n := range pending {
		all = append(all, refusedMinute{key.provider, time.Unix(key.minute, 0), n})
	}
	slices.SortFunc(all, func(a, b refusedMinute) int {
		return cmp.Or(cmp.Compare(a.provider, b.provider), a.at.Compare(b.at))
	})
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	if c.write(ctx, all) == nil {
		return
	}
	for _, m := range all {
		c.add(m.provider, m.at, m.requests)
	}
}

func (s *Store) addRefused(ctx context.Context, all []refusedMinute) error {
	var providers []string
	var minutes []time.Time
	var requests []int64
	for _, m := range all {
		providers, minutes, requests = append(providers, m.provider), append(minutes, m.at), append(requests, m.requests)
	}
	_, err := s.db.Exec(ctx, addRefused, providers, minutes, requests)
	return postgres.Failure("count refused requests", err)
}
