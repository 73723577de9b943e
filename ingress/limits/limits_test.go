package limits

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"holdfast/event"
	"holdfast/providers"
	"holdfast/providers/reading"
	"holdfast/providers/receiving"
)

// limited is a provider with a rate of its own.
func limited(t *testing.T, rates string) *providers.Provider {
	t.Helper()
	dir := t.TempDir()
	definition := "name: limited\nextends: standard-webhooks\n" + rates
	require.NoError(t, os.WriteFile(filepath.Join(dir, "limited.yaml"), []byte(definition), 0o644))
	catalogue, err := providers.Load(dir)
	require.NoError(t, err)
	p, ok := catalogue.Lookup("limited")
	require.True(t, ok)
	return p
}

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// Thirty a minute for each client:
//   - a burst of thirty passes, and the next request gets the time after which there is capacity
//   - another client has its own bucket
//   - capacity returns over time
func TestClientsHaveBucketsOfTheirOwn(t *testing.T) {
	t.Parallel()
	l, err := New(nil)
	require.NoError(t, err)
	p := limited(t, "client_rate: {requests: 30, per: 60s}")
	first, second := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	for range 30 {
		require.Zero(t, l.AllowClient(p, first, noon))
	}
	require.Equal(t, 2*time.Second, l.AllowClient(p, first, noon))
	require.Equal(t, 2*time.Second, l.AllowClient(p, netip.MustParseAddr("::ffff:192.0.2.1"), noon), "the same client by IPv6")
	require.Zero(t, l.AllowClient(p, second, noon))
	require.Zero(t, l.AllowClient(p, first, noon.Add(2*time.Second)))
	require.NotZero(t, l.AllowClient(p, first, noon.Add(2*time.Second)))
}

// A provider's rate applies to all clients together; reloading its definition doesn't refill the bucket.
func TestAProviderHasOneBucket(t *testing.T) {
	t.Parallel()
	l, err := New(nil)
	require.NoError(t, err)
	const rates = "rate: {requests: 2, per: 1s}"
	require.Zero(t, l.AllowProvider(limited(t, rates), noon))
	require.Zero(t, l.AllowProvider(limited(t, rates), noon))
	require.NotZero(t, l.AllowProvider(limited(t, rates), noon))
	require.Zero(t, l.AllowProvider(limited(t, "rate: {requests: 3, per: 1s}"), noon))
}

// Three times as many addresses as the limit use no more memory than the limit.
func TestClientsAreForgotten(t *testing.T) {
	t.Parallel()
	l, err := New(nil)
	require.NoError(t, err)
	p := limited(t, "client_rate: {requests: 1, per: 1s}")
	for i := range uint32(3 * maxClients) {
		var address [4]byte
		binary.BigEndian.PutUint32(address[:], i)
		l.AllowClient(p, netip.AddrFrom4(address), noon)
	}
	require.Equal(t, maxClients, l.clients.Len())
}

// Clients send at random times, from a seed, on a virtual clock:
//   - no client gets more than its rate and one burst, in any time window
//   - all clients together get no more than the provider's rate and burst, either
//   - a client that waits as long as the answer says is served
func TestNoWindowHasMoreThanRateAndBurst(t *testing.T) {
	t.Parallel()
	for _, r := range []receiving.Rate{{Requests: 1, Per: event.Duration(time.Second)}, {Requests: 7, Per: event.Duration(90 * time.Second)},
		{Requests: 20, Per: event.Duration(3 * time.Second)}} {
		per := time.Duration(r.Per)
		p := limited(t, fmt.Sprintf("client_rate: {requests: %d, per: %s}\nrate: {requests: %d, per: %s}",
			r.Requests, per, 2*r.Requests, per))
		rapid.Check(t, func(rt *rapid.T) {
			random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
			synctest.Test(t, func(t *testing.T) { crowd(t, p, random, r.Requests, per) })
		})
	}
}

// crowd lets four clients send, often enough that most requests are refused.
func crowd(t *testing.T, p *providers.Provider, random *rand.Rand, requests int, per time.Duration) {
	t.Helper()
	l, err := New(nil)
	require.NoError(t, err)
	served, all := map[netip.Addr][]time.Time{}, []time.Time{}
	client := netip.MustParseAddr("192.0.2.1")
	for range 200 {
		<-time.After(time.Duration(random.Int64N(int64(per) / int64(requests) / 4)))
		client = netip.AddrFrom4([4]byte{192, 0, 2, byte(random.IntN(4))})
		if l.AllowClient(p, client, time.Now()) == 0 {
			served[client] = append(served[client], time.Now())
		}
		if l.AllowProvider(p, time.Now()) == 0 {
			all = append(all, time.Now())
		}
	}
	for client, times := range served {
		requireBounded(t, times, requests, per, client)
	}
	requireBounded(t, all, 2*requests, per, "all")
	require.Less(t, len(all), 200, "nobody was refused")
	for l.AllowClient(p, client, time.Now()) == 0 {
	}
	const rounding = time.Microsecond // of the limiter, to less than what is due; an answer names whole seconds, rounded up
	<-time.After(l.AllowClient(p, client, time.Now()) + rounding)
	require.Zero(t, l.AllowClient(p, client, time.Now()), "it has waited as it was told")
}

// requireBounded asserts that no window, however long, has more requests than its length allows plus one burst.
func requireBounded(t *testing.T, times []time.Time, burst int, per time.Duration, who any) {
	t.Helper()
	for i := range times {
		for j := i; j < len(times); j++ {
			allowed := float64(burst)*times[j].Sub(times[i]).Seconds()/per.Seconds() + float64(burst)
			if float64(j-i+1) > allowed+1e-6 { // a plain if, because there are very many windows
				require.Fail(t, "more than rate and burst", "%v: %d from %s to %s", who, j-i+1, times[i], times[j])
			}
		}
	}
}

// sharedStore counts for several processes as the database does: one statement for all waiting requests.
type sharedStore struct {
	mu         sync.Mutex
	buckets    map[string]int // granted so far
	fails      error
	takes      time.Duration
	statements atomic.Int64
	canceled   atomic.Int64
}

func (s *sharedStore) TakeRates(ctx context.Context, claims []event.RateClaim) ([]event.RateGrant, error) {
	s.mu.Lock()
	takes := s.takes
	s.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
	}
	s.mu.Lock()
	if ctx.Err() != nil {
		s.canceled.Add(1)
		s.fails = ctx.Err()
	}
	defer s.mu.Unlock()
	s.statements.Add(1)
	if s.fails != nil {
		return nil, s.fails
	}
	grants := make([]event.RateGrant, len(claims))
	for i, c := range claims {
		grants[i] = event.RateGrant{Granted: min(c.Want, c.Requests-s.buckets[c.Name]), Wait: c.Per / time.Duration(c.Requests)}
		s.buckets[c.Name] += grants[i].Granted
	}
	return grants, nil
}

// Three processes, and a hundred concurrent requests to each:
//   - together they let as many pass as the rate allows, with few statements
//   - refused requests ask the store again only once there is capacity
//   - each source has its own rate, and a request counts once for each source of its events
//   - if the store doesn't answer, each process applies the rate alone and asks again after a second
func TestProcessesShareRates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &sharedStore{buckets: map[string]int{}}
		p := limited(t, "rate: {requests: 30, per: 1m}\nsource_rate: {requests: 10, per: 1m}\nsource: .body.account")
		var all []*Limits
		for range 3 {
			l, err := New(store)
			require.NoError(t, err)
			all = append(all, l)
		}
		passed := func(take func(*Limits) time.Duration) (n int64) {
			var passed atomic.Int64
			var wg sync.WaitGroup
			for i := range 300 {
				wg.Go(func() {
					if take(all[i%3]) == 0 {
						passed.Add(1)
					}
				})
			}
			wg.Wait()
			return passed.Load()
		}
		provider := func(l *Limits) time.Duration { return l.AllowProvider(p, time.Now()) }
		source := func(names ...string) func(*Limits) time.Duration {
			items := make([]reading.Item, len(names))
			for i, name := range names {
				items[i].Source = name
			}
			return func(l *Limits) time.Duration { return l.AllowSources(p, items, time.Now()) }
		}
		require.EqualValues(t, 30, passed(provider))
		require.Less(t, store.statements.Load(), int64(10))
		before := store.statements.Load()
		require.Equal(t, 2*time.Second, provider(all[0]).Round(time.Second))
		require.Equal(t, before, store.statements.Load())

		require.EqualValues(t, 10, passed(source("a")))
		require.EqualValues(t, 10, passed(source("b", "b", "c")))
		require.Equal(t, map[string]int{"limited 30/1m0s": 30, "limited 10/1m0s a": 10, "limited 10/1m0s b": 10,
			"limited 10/1m0s c": 10}, store.buckets)

		store.fails = errors.New("the database is away")
		<-time.After(time.Minute)
		before = store.statements.Load()
		require.EqualValues(t, 3*30, passed(provider))
		require.Equal(t, before+3, store.statements.Load())
		<-time.After(time.Second) // ask must outlast the requests, or it would block the test's end
	})
}

// A database whose statements take longer than requests wait:
//   - every request waits less than a tenth of a second, however long the statement takes
//   - the statement isn't canceled, which would cost the pool its connection, and no other one begins meanwhile
//   - the more often it is slow, the fewer statements there are; once it is in time again, processes share their rates
//     immediately
func TestASlowStoreDelaysFewRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &sharedStore{buckets: map[string]int{}, takes: 90 * time.Millisecond}
		l, err := New(store)
		require.NoError(t, err)
		p := limited(t, "rate: {requests: 60000, per: 1m}")
		var delayed int
		ask := func(span time.Duration) (asked int) {
			before := store.statements.Load()
			for begin := time.Now(); time.Since(begin) < span; {
				one := time.Now()
				require.Zero(t, l.AllowProvider(p, one))
				if waited := time.Since(one); waited > 0 {
					require.Less(t, waited, 50*time.Millisecond)
					delayed++
				}
				<-time.After(5 * time.Millisecond)
			}
			return int(store.statements.Load() - before)
		}
		require.LessOrEqual(t, ask(time.Minute), 6, "after 1, 3, 7, 15 and 31 s")
		require.LessOrEqual(t, delayed, 6)
		store.mu.Lock()
		store.takes = 3 * time.Second
		store.mu.Unlock()
		require.LessOrEqual(t, ask(time.Minute), 3)
		require.Zero(t, store.canceled.Load())
		store.mu.Lock()
		store.takes = 0
		store.mu.Unlock()
		ask(30 * time.Second)
		require.Greater(t, ask(10*time.Second), 500)
		<-time.After(time.Minute)
	})
}

// Requests that wait for a statement that turns out to be slow pass with it, and don't wait for another one.
func TestWritesBehindASlowStatementFinishWithIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &sharedStore{buckets: map[string]int{}, takes: time.Second}
		l, err := New(store)
		require.NoError(t, err)
		p := limited(t, "rate: {requests: 100, per: 1m}")
		var wg sync.WaitGroup
		begin := time.Now()
		for i := range 10 {
			wg.Go(func() {
				<-time.After(time.Duration(i) * time.Millisecond)
				require.Zero(t, l.AllowProvider(p, time.Now()))
			})
		}
		wg.Wait()
		require.Less(t, time.Since(begin), 50*time.Millisecond)
		<-time.After(time.Minute)
		require.EqualValues(t, 1, store.statements.Load())
	})
}

// A request has events of two sources, one of them over its rate: it takes from neither, nor from the provider, in its process
// and in the database, whether this process or another one has used up the rate.
func TestARefusedRequestCountsForNoRate(t *testing.T) {
	t.Parallel()
	const rates = "rate: {requests: 20, per: 1m}\nsource_rate: {requests: 10, per: 1m}\nsource: .body.account"
	of := func(names ...string) []reading.Item {
		items := make([]reading.Item, len(names))
		for i, name := range names {
			items[i].Source = name
		}
		return items
	}
	for _, isShared := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store := &sharedStore{buckets: map[string]int{}}
			var all []*Limits
			for range 2 {
				l, err := New(nil)
				require.NoError(t, err)
				if isShared {
					l.shared = newSharedRates(store)
				}
				all = append(all, l)
			}
			p, last := limited(t, rates), all[1]
			if !isShared {
				all[0] = last // each process counts for itself
			}
			take := func(l *Limits, names ...string) time.Duration {
				now := time.Now()
				if wait := l.AllowProvider(p, now); wait > 0 {
					return wait
				}
				wait := l.AllowSources(p, of(names...), now)
				if wait > 0 {
					l.RefundProvider(p)
				}
				return wait
			}
			for range 10 {
				require.Zero(t, take(all[0], "a"))
			}
			for range 30 {
				require.NotZero(t, take(last, "b", "a"))
				require.NotZero(t, take(last, "a", "b"))
			}
			if isShared {
				<-time.After(5 * ratePace)
				synctest.Wait() // the last statement has returned its permits
				require.Equal(t, map[string]int{"limited 20/1m0s": 10, "limited 10/1m0s a": 10, "limited 10/1m0s b": 0}, store.buckets)
			}
			for range 10 {
				require.Zero(t, take(last, "b"))
			}
			require.NotZero(t, take(last, "b"))
			<-time.After(time.Minute)
		})
	}
}

// An IPv6 subscriber network is one client; two neighbouring IPv4 addresses are two.
func TestANetworkOfIPv6IsOneClient(t *testing.T) {
	t.Parallel()
	network := func(a string) string { return networkOf(netip.MustParseAddr(a)).String() }
	require.Equal(t, network("2001:db8:1:2::1"), network("2001:db8:1:2:ffff::9"))
	require.NotEqual(t, network("2001:db8:1:2::1"), network("2001:db8:1:3::1"))
	require.NotEqual(t, network("198.51.100.1"), network("198.51.100.2"))
	require.Equal(t, network("198.51.100.1"), network("::ffff:198.51.100.1"))
}
