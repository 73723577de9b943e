package intake

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/workflows/runs"
)

// busyTemporal serves a few starts at a time, roughly in order, and stalls for stallFor after each stallEvery.
type busyTemporal struct {
	service, stallEvery, stallFor time.Duration

	mu      sync.Mutex
	free    int
	waiting []chan struct{}
	random  *rand.Rand
	begin   time.Time
}

func newBusyTemporal(servers int, service time.Duration) *busyTemporal {
	return &busyTemporal{service: service, free: servers, random: rand.New(rand.NewPCG(1, 2)), begin: time.Now()}
}

func (b *busyTemporal) serve(context.Context) {
	turn := make(chan struct{})
	b.mu.Lock()
	b.waiting = append(b.waiting, turn)
	b.next()
	b.mu.Unlock()
	<-turn
	elapse(b.service)
	if since := time.Since(b.begin); since > b.stallEvery && since%b.stallEvery < b.stallFor {
		elapse(b.stallFor - since%b.stallEvery)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free++
	b.next()
}

func (b *busyTemporal) next() {
	for b.free > 0 && len(b.waiting) > 0 {
		at := b.random.IntN(min(len(b.waiting), 4))
		close(b.waiting[at])
		b.waiting = slices.Delete(b.waiting, at, at+1)
		b.free--
	}
}

// busyInbox is an inbox whose commits take 3 ms.
type busyInbox struct{ *fakeInbox }

func (s busyInbox) Spool(ctx context.Context, lane event.Lane, r event.Receipt, body []byte, reject bool) (bool, error) {
	elapse(3 * time.Millisecond)
	return s.fakeInbox.Spool(ctx, lane, r, body, reject)
}

func (s busyInbox) SpoolLate(ctx context.Context, r event.Receipt, body []byte, reject bool, delay time.Duration) (bool, error) {
	elapse(3 * time.Millisecond)
	return s.fakeInbox.SpoolLate(ctx, r, body, reject, delay)
}

// load is what happened to the events of some connections.
type load struct {
	sent, spooled int
	slowest       time.Duration
	left          int // in the inbox at the end of the load
}

// underLoad sends events over connections, one after the other each, while the drain runs.
func underLoad(t *testing.T, temporal *busyTemporal, connections, events int) (l load) {
	t.Helper()
	table := newFakeInbox()
	c := newCommitter(t, busyInbox{table})
	c.Breaker = NewBreaker(32)
	c.temporal.during = temporal.serve
	drain := NewDrain(table, c.temporal, nil, c.Breaker, c.StartTimeout)
	go drain.Run()
	var mu sync.Mutex
	var clients sync.WaitGroup
	n := 0
	for range connections {
		clients.Go(func() {
			for {
				mu.Lock()
				n++
				e, isLast := event.Received{Receipt: waiting(n)}, n > events
				mu.Unlock()
				if isLast {
					return
				}
				begin := time.Now()
				ctx, cancel := runs.WithTimeout(t.Context(), c.CommitTimeout)
				started, err := c.commitOne(ctx, e, &request{ackDeadline: begin.Add(c.AckBudget), slots: make(chan struct{}, 1)})
				cancel()
				mu.Lock()
				require.NoError(t, err)
				if l.sent++; started.State == StateSpooled {
					l.spooled++
				}
				l.slowest = max(l.slowest, time.Since(begin))
				mu.Unlock()
			}
		})
	}
	clients.Wait()
	l.left = table.depth()
	elapse(time.Minute)
	require.Zero(t, table.depth(), "the drain catches up")
	require.Len(t, c.temporal.all(), l.sent, "each event is started once")
	require.NoError(t, drain.Stop(t.Context()))
	require.NoError(t, c.Close(t.Context()))
	return l
}

// 32 connections send as fast as they are answered, to a Temporal that starts 133 events a second:
//   - hardly any event goes to the inbox, since a start that waits for its turn here is confirmed in time
//   - after a stall, the inbox empties while the load goes on
func TestTheInboxDoesNotFeedItself(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stall         time.Duration
		spooled, left int
	}{
		"steady":      {spooled: 30},
		"with stalls": {stall: 300 * time.Millisecond, spooled: 300, left: 50},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				temporal := newBusyTemporal(2, 15*time.Millisecond)
				temporal.stallEvery, temporal.stallFor = 4*time.Second, c.stall
				l := underLoad(t, temporal, 32, 1500)
				t.Logf("%+v", l)
				require.LessOrEqual(t, l.spooled, c.spooled, "of %d", l.sent)
				require.LessOrEqual(t, l.left, c.left)
				require.LessOrEqual(t, l.slowest, 500*time.Millisecond)
			})
		})
	}
}

// Starts beyond the limit wait for their turn:
//   - in the order in which they came, for as long as they may
//   - not at all if they can't expect it in time
//   - no longer once Temporal is down, or if their request has ended
func TestStartsWaitForTheirTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := NewBreaker(1)
		const patience = 200 * time.Millisecond
		admit := func(ctx context.Context) (*permit, startState) { return b.admit(ctx, time.Now().Add(patience), false) }
		first, _ := admit(t.Context())
		order := make(chan int, 3)
		for n := range 3 {
			go func() {
				p, state := admit(t.Context())
				order <- n
				if state == started {
					elapse(90 * time.Millisecond)
					p.end(nil)
				}
			}()
			synctest.Wait()
		}
		elapse(90 * time.Millisecond)
		first.end(nil)
		require.Equal(t, 0, <-order)
		require.Equal(t, 1, <-order)
		begin := time.Now()
		require.Equal(t, 2, <-order, "it has waited for 200 ms")
		require.Equal(t, 20*time.Millisecond, time.Since(begin))
		elapse(time.Second)
		synctest.Wait()
		require.Zero(t, b.liveStarts)

		first, _ = admit(t.Context())
		b.average = 2*patience + 1
		begin = time.Now()
		_, state := admit(t.Context())
		require.Equal(t, busy, state)
		require.Zero(t, time.Since(begin))

		b.average = 0
		ended, end := context.WithTimeout(t.Context(), time.Millisecond)
		defer end()
		_, state = admit(ended)
		require.Equal(t, busy, state)
		require.Equal(t, time.Millisecond, time.Since(begin))

		states := make(chan startState)
		go func() { _, state := admit(t.Context()); states <- state }()
		synctest.Wait()
		require.Len(t, b.waiting, 1)
		for range tripAfter {
			if p := b.admitFromInbox(); p != nil {
				p.end(errAway)
			}
		}
		require.Equal(t, down, <-states)
		require.Equal(t, time.Millisecond, time.Since(begin))
		first.end(nil)
		require.Zero(t, b.liveStarts+b.inboxStarts+len(b.waiting))
	})
}

// Slow starts lower the limit on starts in flight, down to 12; others raise it up to what is configured.
func TestTheLimitFollowsTheDurationOfStarts(t *testing.T) {
	t.Parallel()
	b := NewBreaker(32)
	require.Equal(t, 6, b.capacity(0))
	for range 1000 {
		b.confirm(slowStart)
	}
	require.InDelta(t, 32, b.limit, 0.01)
	require.Equal(t, 16, b.capacity(0))
	for range 1000 {
		b.confirm(slowStart + 1)
	}
	require.InDelta(t, 12, b.limit, 0.01)
	require.InDelta(t, slowStart, b.average, float64(time.Millisecond))
}
