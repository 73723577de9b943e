package errorlog

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"holdfast/persistence/postgres"
)

const (
	minutesFlushEvery = 5 * time.Second
	// maxMinutes bounds what is kept in memory while the database is unavailable.
	maxMinutes = 10_000

	// addRefused adds to the counts of other processes, in one order, so that two never wait for each other.
	addRefused = `
INSERT INTO refused_minutes AS m (provider, minute, requests)
SELECT provider, minute, requests FROM unnest($1::text[], $2::timestamptz[], $3::bigint[]) AS n (provider, minute, requests)
ON CONFLICT (provider, minute) DO UPDATE SET requests = m.requests + excluded.requests`

	addUnauthenticated = `
INSERT INTO refused_minutes AS m (provider, minute, requests, unauthenticated)
SELECT provider, minute, requests, requests
  FROM unnest($1::text[], $2::timestamptz[], $3::bigint[]) AS n (provider, minute, requests)
ON CONFLICT (provider, minute) DO UPDATE
   SET requests = m.requests + excluded.requests, unauthenticated = m.unauthenticated + excluded.unauthenticated`

	// PurgeRefused removes up to $2 counts of minutes before $1.
	PurgeRefused = `
DELETE FROM refused_minutes
 WHERE ctid = ANY (ARRAY(SELECT ctid FROM refused_minutes WHERE minute < $1 AND provider <> '' LIMIT $2 FOR UPDATE SKIP LOCKED))`
)

// MinuteCounter counts per provider and minute in the background: Count never waits, and never fails. While the database is
// unavailable the counts stay in memory; beyond a limit they are per hour. A process that is killed loses those of the last
// seconds.
type MinuteCounter struct {
	*postgres.Flusher

	write func(context.Context, []countedMinute) error

	mu      sync.Mutex
	pending map[minuteKey]int64
}

type minuteKey struct {
	provider string
	minute   int64 // in seconds since 1970
}

type countedMinute struct {
	provider string
	at       time.Time
	n        int64
}

// RefusedCounter counts refused requests, by whether they failed authentication (see MinuteCounter).
type RefusedCounter struct{ unauthenticated, others *MinuteCounter }

// NewRefusedCounter starts a counter; Stop writes what is left and ends it.
func (s *Store) NewRefusedCounter() *RefusedCounter {
	return &RefusedCounter{unauthenticated: s.newMinuteCounter(addUnauthenticated), others: s.newMinuteCounter(addRefused)}
}

// Count counts a request to a provider at a time.
func (c *RefusedCounter) Count(provider string, at time.Time, unauthenticated bool) {
	if unauthenticated {
		c.unauthenticated.Count(provider, at)
		return
	}
	c.others.Count(provider, at)
}

// Stop writes what is left and ends the counter.
func (c *RefusedCounter) Stop(ctx context.Context) error {
	return errors.Join(c.unauthenticated.Stop(ctx), c.others.Stop(ctx))
}

// newMinuteCounter starts a counter with a statement that adds its counts: $1 are providers, $2 minutes, $3 numbers.
func (s *Store) newMinuteCounter(add string) *MinuteCounter {
	c := &MinuteCounter{Flusher: postgres.NewFlusher(), pending: map[minuteKey]int64{}}
	c.write = func(ctx context.Context, all []countedMinute) error { return s.addMinutes(ctx, add, all) }
	go c.Run(minutesFlushEvery, func(time.Time, bool) { c.flush() })
	return c
}

// Count counts one thing of a provider at a time.
func (c *MinuteCounter) Count(provider string, at time.Time) { c.add(provider, at, 1) }

func (c *MinuteCounter) add(provider string, at time.Time, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := minuteKey{provider, at.Truncate(time.Minute).Unix()}
	if _, has := c.pending[key]; !has && len(c.pending) >= maxMinutes {
		key.minute = at.Truncate(time.Hour).Unix()
	}
	c.pending[key] += n
}

// flush writes what is pending. What can't be written is tried again with the next flush.
func (c *MinuteCounter) flush() {
	c.mu.Lock()
	pending := c.pending
	c.pending = map[minuteKey]int64{}
	c.mu.Unlock()
	if len(pending) == 0 {
		return
	}
	var all []countedMinute
	for key, n := range pending {
		all = append(all, countedMinute{key.provider, time.Unix(key.minute, 0), n})
	}
	slices.SortFunc(all, func(a, b countedMinute) int {
		return cmp.Or(cmp.Compare(a.provider, b.provider), a.at.Compare(b.at))
	})
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	if c.write(ctx, all) == nil {
		return
	}
	for _, m := range all {
		c.add(m.provider, m.at, m.n)
	}
}

func (s *Store) addMinutes(ctx context.Context, statement string, all []countedMinute) error {
	var providers []string
	var minutes []time.Time
	var numbers []int64
	for _, m := range all {
		providers, minutes, numbers = append(providers, m.provider), append(minutes, m.at), append(numbers, m.n)
	}
	_, err := s.db.Exec(ctx, statement, providers, minutes, numbers)
	return postgres.Failure("count by the minute", err)
}
