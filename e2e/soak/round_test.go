package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
)

// round is a period of load with faults, followed by rest and a check of its history.
type round struct {
	*world

	prefix        string // of its keys
	history       *history
	betweenFaults time.Duration // at most
	senders       sync.WaitGroup

	mu     sync.Mutex
	sent   []string // keys, oldest first
	faults map[string]int
}

// result is the result of a round.
type result struct {
	name             string
	keys, operations int
	faults           map[string]int
	violations       []violation
	took             time.Duration
}

const (
	senderCount   = 6
	operatorCount = 2
	readerCount   = 2
	quietLimit    = 10 * time.Minute // a busy machine works off the load slowly
)

// play plays a round: its name is the prefix of its keys, and together with the seed decides its choices.
func (w *world) play(name string, load, betweenFaults time.Duration, seed uint64) result {
	w.t.Helper()
	r := &round{
		world: w, prefix: name + "-", history: newHistory(), betweenFaults: betweenFaults, faults: map[string]int{},
	}
	_, feed, err := w.nodes[0].reportedSince(w.t.Context(), "now")
	require.NoError(w.t, err)
	w.endpoint.history.Store(r.history)
	r.load(load, seed)
	w.heal()
	w.awaitQuiet(quietLimit)
	r.finish(feed)
	operations := r.history.close()
	found, err := check(operations)
	require.NoError(w.t, err)
	return result{
		name: name, keys: len(r.sent), operations: len(operations), faults: r.faults, violations: found,
		took: time.Since(r.history.began).Round(time.Second),
	}
}

// load runs senders, operators, readers and faults, each with its own random numbers.
func (r *round) load(d time.Duration, seed uint64) {
	ctx, cancel := context.WithTimeout(r.t.Context(), d)
	defer cancel()
	var all sync.WaitGroup
	stream := uint64(0)
	start := func(n int, f func(context.Context, *rand.Rand)) {
		for range n {
			stream++
			rng := rand.New(rand.NewPCG(seed, stream))
			all.Go(func() { f(ctx, rng) })
		}
	}
	start(senderCount, r.send)
	start(operatorCount, r.operate)
	start(readerCount, r.read)
	start(1, r.expunge)
	start(1, r.resetRecent)
	start(1, func(ctx context.Context, rng *rand.Rand) { r.disturb(ctx, serverFaults, rng) })
	start(1, func(ctx context.Context, rng *rand.Rand) { r.disturb(ctx, processFaults, rng) })
	all.Wait()
	r.senders.Wait()
}

// read reads recent keys until the load ends.
func (r *round) read(ctx context.Context, rng *rand.Rand) {
	for r.pause(ctx, rng, 100*time.Millisecond) {
		if key := r.recentKey(rng); key != "" {
			end := r.history.begin(call{key, read, 0})
			seen, err := r.observe(ctx, key)
			if err != nil {
				end(outcome{Answer: refused})
				continue
			}
			end(outcome{Answer: acknowledged, Seen: seen[0]})
		}
	}
}

// finish reads all keys when no work is pending.
func (r *round) finish(feed string) {
	r.t.Helper()
	keys := r.history.keys()
	var ends []func(outcome)
	for _, key := range keys {
		ends = append(ends, r.history.begin(call{key, finish, 0}))
	}
	seen, err := r.observe(r.t.Context(), keys...)
	require.NoError(r.t, err)
	reported, _, err := r.nodes[0].reportedSince(r.t.Context(), feed)
	require.NoError(r.t, err)
	for i, end := range ends {
		for g := range seen[i] {
			seen[i][g].Reported = reported[seen[i][g].EventID]
		}
		end(outcome{Answer: acknowledged, Seen: seen[i]})
	}
}

// pause waits for a random time. It returns false when the load has ended.
func (*round) pause(ctx context.Context, rng *rand.Rand, longest time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(time.Duration(rng.Int64N(int64(longest)))):
		return true
	}
}

func (r *round) newKey() (key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key = fmt.Sprintf("%s%05d", r.prefix, len(r.sent))
	r.sent = append(r.sent, key)
	return key
}

// recentKey returns "" before the first one.
func (r *round) recentKey(rng *rand.Rand) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.sent) == 0 {
		return ""
	}
	newest := r.sent[max(0, len(r.sent)-recent):]
	return newest[rng.IntN(len(newest))]
}

func (r *round) count(fault string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults[fault]++
}
