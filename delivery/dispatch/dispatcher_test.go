package dispatch

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
)

func job(n int, destination int64) delivery.Job {
	return delivery.Job{
		Key:           delivery.Key{EventID: fmt.Sprintf("event-%d", n), SubscriptionID: destination},
		DestinationID: destination, QueuedAt: time.Now(),
	}
}

// to has a target for each destination of the jobs, which are tried again at once.
func to(m *memory, destinations ...int64) {
	none := 0.0
	for _, id := range destinations {
		m.targets[id] = delivery.Target{Destination: delivery.Destination{
			ID: id, Name: fmt.Sprint(id), HTTP: &delivery.HTTP{URL: fmt.Sprintf("https://host-%d.example.com", id)},
			Retry: delivery.Retry{Initial: 1, Coefficient: 1, Maximum: 1, Jitter: &none},
		}}
	}
}

func start(t *testing.T, m *memory, slots int, send sends) *Dispatcher {
	t.Helper()
	d, err := New(Options{Queue: m, HTTP: send, Temporal: send, Slots: slots, Errors: &told{}})
	require.NoError(t, err)
	d.Start()
	t.Cleanup(func() { require.NoError(t, d.Stop(context.Background(), 0)) })
	return d
}

func ok(context.Context, delivery.Target, delivery.Job, delivery.Message) delivery.Result {
	return delivery.Result{Kind: delivery.OK, Code: "200", Reach: delivery.Reached}
}

// Three thousand deliveries of a hundred destinations, in 16 slots: each is delivered once, and no destination has more than
// half of the slots at any moment.
func TestEverythingIsDelivered(t *testing.T) {
	t.Parallel()
	m := newMemory()
	for n := range 3_000 {
		m.waiting = append(m.waiting, job(n, int64(n%100)))
	}
	for id := range int64(100) {
		to(m, id)
	}
	var sent, most atomic.Int64
	var busy [100]atomic.Int64
	start(t, m, 16, func(_ context.Context, tgt delivery.Target, _ delivery.Job, msg delivery.Message) delivery.Result {
		defer busy[tgt.Destination.ID].Add(-1)
		if n := busy[tgt.Destination.ID].Add(1); n > most.Load() {
			most.Store(n)
		}
		sent.Add(1)
		return delivery.Result{Kind: delivery.OK, Code: "200", Answer: msg.Body[:1]}
	})
	m.until(func() bool { return len(m.ended) == 3_000 })
	require.EqualValues(t, 3_000, sent.Load())
	require.LessOrEqual(t, most.Load(), int64(8))
}

// A stop under load loses no outcome: attempts in flight end with their result or are aborted, and both are settled.
func TestAStopSettlesAttemptsInFlight(t *testing.T) {
	t.Parallel()
	m := newMemory()
	for n := range 500 {
		m.waiting = append(m.waiting, job(n, int64(n%50)))
	}
	for id := range int64(50) {
		to(m, id)
	}
	began, release := make(chan struct{}, 1000), make(chan struct{})
	d := start(t, m, 64, func(ctx context.Context, t delivery.Target, j delivery.Job, msg delivery.Message) delivery.Result {
		began <- struct{}{}
		<-release
		return ok(ctx, t, j, msg)
	})
	for range 20 {
		<-began
	}
	go close(release)
	require.NoError(t, d.Stop(t.Context(), time.Minute))
	m.mu.Lock()
	defer m.mu.Unlock()
	require.Empty(t, m.leased)
	require.GreaterOrEqual(t, len(m.ended), 20)
	require.Equal(t, 500, len(m.ended)+len(m.waiting))
}

// An attempt that does not end within the grace is given up. It counts nowhere, and is due at once for others.
func TestAStopGivesUpLongWork(t *testing.T) {
	t.Parallel()
	m := newMemory(job(1, 1))
	to(m, 1)
	began := make(chan struct{})
	d := start(t, m, 1, func(ctx context.Context, _ delivery.Target, _ delivery.Job, _ delivery.Message) delivery.Result {
		close(began)
		<-ctx.Done()
		return delivery.Result{Kind: delivery.Bad, Code: "timeout"}
	})
	<-began
	require.NoError(t, d.Stop(t.Context(), 0))
	require.Empty(t, m.leased)
	require.Len(t, m.settled, 1)
	require.Equal(t, delivery.Ours, m.settled[0].Kind)
	require.False(t, m.settled[0].DueAt.After(time.Now()))
}

// A sender that panics makes a failed attempt, whose policy ends it.
func TestAPanicIsAResult(t *testing.T) {
	t.Parallel()
	m := newMemory(job(1, 1), job(2, 2))
	to(m, 1, 2)
	var tries atomic.Int32
	start(t, m, 4, func(ctx context.Context, t delivery.Target, j delivery.Job, msg delivery.Message) delivery.Result {
		if j.DestinationID == 1 {
			tries.Add(1)
			panic("CANARY")
		}
		return ok(ctx, t, j, msg)
	})
	m.until(func() bool { return len(m.ended) == 2 })
	require.EqualValues(t, 5, tries.Load())
	require.True(t, m.ended[job(1, 1).Key].Dead)
	require.Equal(t, "panic", m.ended[job(1, 1).Key].Code)
	require.NotContains(t, m.ended[job(1, 1).Key].Error, "CANARY")
}

// While the queue is unreachable, outcomes are kept and use their slots. Each is settled exactly once afterwards.
func TestOutcomesAreKeptWhileTheQueueIsAway(t *testing.T) {
	t.Parallel()
	m := newMemory()
	for n := range 50 {
		m.waiting = append(m.waiting, job(n, int64(n)))
		to(m, int64(n))
	}
	away := make(chan struct{}, 100)
	var back atomic.Bool
	m.settleFault = func([]delivery.Outcome) error {
		if back.Load() {
			return nil
		}
		away <- struct{}{}
		return &event.Error{Class: event.ClassTransient, Code: "connection_lost"}
	}
	var sent atomic.Int32
	start(t, m, 8, func(ctx context.Context, t delivery.Target, j delivery.Job, msg delivery.Message) delivery.Result {
		sent.Add(1)
		return ok(ctx, t, j, msg)
	})
	defer back.Store(true)
	for range 3 {
		<-away
	}
	require.LessOrEqual(t, sent.Load(), int32(8+4), "unsettled outcomes hold their slots; new destinations may take half as many more")
	back.Store(true)
	m.until(func() bool { return len(m.ended) == 50 })
	require.EqualValues(t, 50, sent.Load())
}

// The queue refuses one outcome for what is in it: it is left to the end of its lease, and the others are settled.
func TestOneOutcomeDoesNotHoldUpTheOthers(t *testing.T) {
	t.Parallel()
	m := newMemory()
	for n := range 30 {
		m.waiting = append(m.waiting, job(n, int64(n)))
		to(m, int64(n))
	}
	bad := job(7, 7).Key
	m.settleFault = func(all []delivery.Outcome) error {
		for _, s := range all {
			if s.Key == bad {
				return event.Rejectf("bad", "it cannot be stored")
			}
		}
		return nil
	}
	start(t, m, 64, ok)
	m.until(func() bool { return len(m.ended) == 29 })
	m.mu.Lock()
	defer m.mu.Unlock()
	require.Contains(t, m.leased, bad)
}

// What cannot be read waits again without an attempt; what is gone, the event or the subscription, is attempted no more.
func TestUnreadableDeliveriesAreNotAttempted(t *testing.T) {
	t.Parallel()
	m := newMemory(job(1, 1), job(2, 2))
	to(m, 1) // and not 2
	m.gone[job(1, 1).EventID] = true
	faults := 2
	m.messageFault = func() error {
		if faults > 0 {
			faults--
			for _, j := range m.leased { // it is due again at once
				defer func() { m.due[j.Key] = time.Time{} }()
			}
			return &event.Error{Class: event.ClassTransient, Code: "connection_lost"}
		}
		return nil
	}
	start(t, m, 4, func(context.Context, delivery.Target, delivery.Job, delivery.Message) delivery.Result {
		panic("nothing is to be sent")
	})
	m.until(func() bool {
		for key := range m.due {
			m.due[key] = time.Time{}
		}
		return len(m.ended) == 2
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	require.Equal(t, delivery.CodeExpunged, m.ended[job(1, 1).Key].Code)
	require.Equal(t, delivery.CodeDeleted, m.ended[job(2, 2).Key].Code)
	require.Equal(t, delivery.Ours, m.settled[0].Kind)
	require.Less(t, time.Until(m.settled[0].DueAt), 2*time.Second, "the database was away, and is there again")
}

// Destinations that hang take no slots of healthy ones: while all slots of unproven destinations are taken, a healthy one is served
// as if they weren't there.
func TestDestinationsThatHangDelayNoOthers(t *testing.T) {
	t.Parallel()
	m := newMemory()
	m.body = 8
	release := make(chan struct{})
	var hanging, sent sync.WaitGroup
	hanging.Add(4)
	sent.Add(1)
	start(t, m, 8, func(ctx context.Context, t delivery.Target, j delivery.Job, msg delivery.Message) delivery.Result {
		switch {
		case j.DestinationID < 40:
			hanging.Done()
			<-release
		case j.EventID == "event-1000":
			sent.Done()
		}
		return ok(ctx, t, j, msg)
	})
	add := func(n int, destination int64) {
		m.mu.Lock()
		defer m.mu.Unlock()
		to(m, destination)
		m.waiting = append(m.waiting, job(n, destination))
	}
	add(1000, 100)
	sent.Wait() // it is proven
	m.until(func() bool { return len(m.ended) == 1 })
	for n := range 4 {
		add(n, int64(n))
		add(10+n, int64(n))
	}
	hanging.Wait()
	for n := range 1000 {
		add(2000+n, 100)
	}
	m.until(func() bool { return len(m.ended) == 1001 })
	hanging.Add(4)
	close(release)
	m.until(func() bool { return len(m.ended) == 1009 })
}

// Sixty-six bodies of 1 MiB that wait for one destination that hangs don't keep another one from its own: the dispatcher waits for no
// memory.
func TestMemoryThatOneHoldsDelaysNoOthers(t *testing.T) {
	t.Parallel()
	m := newMemory()
	to(m, 1, 2)
	release := make(chan struct{})
	var hangs atomic.Bool
	var hanging atomic.Int64
	start(t, m, 64, func(ctx context.Context, t delivery.Target, j delivery.Job, msg delivery.Message) delivery.Result {
		if hangs.Load() && j.DestinationID == 1 {
			hanging.Add(1)
			<-release
		}
		return ok(ctx, t, j, msg)
	})
	add := func(from, n int, destination int64) {
		m.mu.Lock()
		defer m.mu.Unlock()
		for i := range n {
			m.waiting = append(m.waiting, job(from+i, destination))
		}
	}
	add(0, 200, 1) // its window grows
	m.until(func() bool { return len(m.ended) == 200 })
	hangs.Store(true)
	add(1000, 66, 1)
	m.until(func() bool {
		return slices.ContainsFunc(m.settled, func(s delivery.Outcome) bool { return s.Code == codeMemory })
	})
	add(2000, 20, 2)
	m.until(func() bool { return len(m.ended) == 220 })
	require.LessOrEqual(t, hanging.Load(), int64(9), "an eighth of the memory, and what began before")
	close(release)
	m.until(func() bool {
		for key := range m.due {
			m.due[key] = time.Time{}
		}
		return len(m.ended) == 286
	})
}

// This process is offline: after the third destination that stops connecting, attempts don't count and go on one at a time.
// Operators are alerted once when it begins and once when it ends.
func TestWhenWeAreCutOffNothingCounts(t *testing.T) {
	t.Parallel()
	m := newMemory()
	var down atomic.Bool
	sink := &told{}
	send := sends(func(ctx context.Context, t delivery.Target, j delivery.Job, msg delivery.Message) delivery.Result {
		if down.Load() {
			return delivery.Result{Kind: delivery.Bad, Code: "connection", Reach: delivery.Unreached}
		}
		return ok(ctx, t, j, msg)
	})
	d, err := New(Options{Queue: m, HTTP: send, Slots: 64, Errors: sink})
	require.NoError(t, err)
	for n := range 4 {
		to(m, int64(n))
		m.waiting = append(m.waiting, job(n, int64(n)))
	}
	d.Start()
	m.until(func() bool { return len(m.ended) == 4 })
	down.Store(true)
	m.mu.Lock()
	for n := range 40 {
		m.waiting = append(m.waiting, job(100+n, int64(n%4)))
	}
	m.mu.Unlock()
	cut := func() (n int) {
		for _, s := range m.settled {
			if s.Code == codeOffline {
				n++
			}
		}
		return n
	}
	m.until(func() bool { return cut() >= 4 })
	m.mu.Lock()
	for _, s := range m.settled {
		require.False(t, s.Dead)
		require.True(t, s.Code != codeOffline || s.Kind == delivery.Ours)
	}
	m.mu.Unlock()
	down.Store(false)
	m.until(func() bool {
		for key := range m.due {
			m.due[key] = time.Time{}
		}
		return len(m.ended) == 44
	})
	require.NoError(t, d.Stop(t.Context(), time.Minute))
	require.Len(t, sink.entries, 2)
	require.Equal(t, "network_down", sink.entries[0].Code)
	require.Equal(t, "connected_again", sink.entries[1].Code)
}

// A lease with a start time is attempted then; one whose time has passed is given back, and counts nowhere.
func TestAnAttemptStartsAtItsTime(t *testing.T) {
	t.Parallel()
	waits, missed := job(1, 1), job(2, 2)
	waits.StartAt, waits.StartBy = time.Now().Add(50*time.Millisecond), time.Now().Add(time.Hour)
	missed.StartAt, missed.StartBy = time.Now().Add(-time.Second), time.Now().Add(-time.Second)
	m := newMemory(waits, missed)
	to(m, 1, 2)
	began := make(chan time.Time, 1)
	start(t, m, 8, func(ctx context.Context, t delivery.Target, j delivery.Job, msg delivery.Message) delivery.Result {
		began <- time.Now()
		return ok(ctx, t, j, msg)
	})
	m.until(func() bool { return len(m.ended) == 1 && len(m.settled) > 2 })
	require.False(t, (<-began).Before(waits.StartAt))
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.settled {
		if s.Key == missed.Key {
			require.Equal(t, delivery.CodeLateStart, s.Code)
			require.Equal(t, delivery.Ours, s.Kind)
			require.Less(t, time.Until(s.DueAt), time.Millisecond)
		}
	}
}

// counting counts the leases.
type counting struct {
	*memory

	leases atomic.Int64
}

func (c *counting) Lease(ctx context.Context, want delivery.LeaseRequest) ([]delivery.Job, time.Time, error) {
	c.leases.Add(1)
	return c.memory.Lease(ctx, want)
}

// A lease sees everything that was announced before it began: these wakes don't cause another one.
func TestALeaseAnswersTheWakesBeforeIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &counting{memory: newMemory()}
		d, err := New(Options{Queue: q, Slots: 4, Errors: &told{}})
		require.NoError(t, err)
		notify(q.wakes)
		notify(d.slots.wake)
		d.Start()
		synctest.Wait()
		require.EqualValues(t, 1, q.leases.Load())
		notify(q.wakes)
		synctest.Wait()
		require.EqualValues(t, 2, q.leases.Load())
		require.NoError(t, d.Stop(t.Context(), 0))
	})
}

// No attempt outlives its lease, since another process would make it again meanwhile: it ends so long before that its outcome can
// still be settled. One for which no time is left doesn't begin, and counts nowhere. A destination's own timeout ends it earlier.
func TestAnAttemptEndsBeforeItsLease(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lease, timeout, lasts time.Duration // lasts is how long an attempt may; 0: it doesn't begin
	}{
		"a lease that ends first":   {lease: 5 * time.Second, timeout: 30 * time.Second, lasts: 3 * time.Second},
		"a timeout that ends first": {lease: time.Minute, timeout: 10 * time.Second, lasts: 10 * time.Second},
		"the default timeout":       {lease: time.Hour, lasts: time.Duration(delivery.DefaultTimeout)},
		"no time to settle it":      {lease: 2 * time.Second, timeout: 30 * time.Second},
		"a lease that has ended":    {lease: -time.Second, timeout: 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := newMemory(job(1, 1))
				m.lease = c.lease
				to(m, 1)
				target := m.targets[1]
				target.Destination.Timeout = event.Duration(c.timeout)
				m.targets[1] = target
				began := make(chan time.Duration, 1)
				d := start(t, m, 8, func(ctx context.Context, _ delivery.Target, _ delivery.Job, _ delivery.Message) delivery.Result {
					at := time.Now()
					<-ctx.Done()
					began <- time.Since(at)
					return delivery.Result{Kind: delivery.Final, Code: "timeout"}
				})
				m.until(func() bool { return len(m.settled) > 0 })
				require.NoError(t, d.Stop(t.Context(), 0))
				if c.lasts == 0 {
					require.Empty(t, began)
					require.Equal(t, codeStopped, m.settled[0].Code)
					require.Equal(t, delivery.Ours, m.settled[0].Kind)
					return
				}
				require.Equal(t, c.lasts, <-began)
			})
		})
	}
}

// attempted counts attempts: how many succeeded and failed, and how long they took.
type attempted struct {
	mu    sync.Mutex
	ended map[int64][2]int
	took  time.Duration
}

func (a *attempted) Count(destinationID int64, succeeded bool, took time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := a.ended[destinationID]
	if succeeded {
		n[0]++
	} else {
		n[1]++
	}
	a.ended[destinationID], a.took = n, max(a.took, took)
}

// Attempts are counted by destination and result. Those that say nothing about the destination aren't.
func TestAttemptsAreCounted(t *testing.T) {
	t.Parallel()
	m, counter := newMemory(), &attempted{ended: map[int64][2]int{}}
	kinds := []delivery.Kind{
		delivery.OK, delivery.OK, delivery.Final, delivery.Gone, delivery.Ours, delivery.Busy, delivery.Blocked,
	}
	for n := range kinds {
		m.waiting = append(m.waiting, job(n, int64(n)))
		to(m, int64(n))
	}
	send := sends(func(_ context.Context, to delivery.Target, _ delivery.Job, _ delivery.Message) delivery.Result {
		return delivery.Result{Kind: kinds[to.Destination.ID], Code: "x", Took: 30 * time.Millisecond}
	})
	d, err := New(Options{Queue: m, HTTP: send, Temporal: send, Slots: 16, Errors: &told{}, Attempts: counter})
	require.NoError(t, err)
	d.Start()
	m.until(func() bool {
		tried := map[int64]bool{}
		for _, s := range m.settled {
			tried[s.DestinationID] = true
		}
		return len(tried) == len(kinds)
	})
	require.NoError(t, d.Stop(t.Context(), time.Minute))
	require.Positive(t, counter.ended[3][1], "the queue of this test attempts it again and again")
	counter.ended[3] = [2]int{0, 1}
	require.Equal(t, map[int64][2]int{0: {1, 0}, 1: {1, 0}, 2: {0, 1}, 3: {0, 1}}, counter.ended)
	require.Equal(t, 30*time.Millisecond, counter.took)
}
