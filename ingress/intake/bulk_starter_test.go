package intake

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/workflows/runs"
)

// lateBatch returns a batch of n events, the oldest of which is age old.
func lateBatch(n int, age time.Duration) []event.Batched {
	events := make([]event.Batched, n)
	for i := range events {
		events[i].Receipt.ReceivedAt = time.Now().Add(-age / time.Duration(i+1))
	}
	return events
}

// throttled returns how long an answer waits.
func throttled(p *BulkStarter, budget time.Duration) time.Duration {
	start := time.Now()
	p.Throttle(start.Add(budget))
	return time.Since(start)
}

// Answers are delayed by a fraction of the lane's delay, for a short time after a batch has left events waiting.
func TestAnswersWaitWhileTheLaneIsLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := NewBulkStarter(nil, nil, 10, 2)
		defer p.Stop()
		require.Zero(t, throttled(p, time.Hour), "nothing is known")
		p.BatchEnded(lateBatch(10, 400*time.Millisecond))
		require.Equal(t, 50*time.Millisecond, throttled(p, time.Hour))
		p.BatchEnded(lateBatch(10, time.Hour))
		require.Equal(t, maxThrottle, throttled(p, time.Hour), "a backlog of an outage is worked off, and nobody waits for all of it")
		p.BatchEnded(lateBatch(9, time.Hour))
		require.Zero(t, throttled(p, time.Hour), "nothing was left behind")
		p.BatchEnded(lateBatch(10, time.Second))
		elapse(delayValidFor + time.Millisecond)
		require.Zero(t, throttled(p, time.Hour), "that is long ago")

		none := (*BulkStarter)(nil)
		require.Zero(t, throttled(none, time.Hour), "an ingress without workers")
	})
}

// A wait ends with the ACK budget, and with the starter.
func TestWaitsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := NewBulkStarter(nil, nil, 10, 2)
		p.BatchEnded(lateBatch(10, time.Hour))
		require.Equal(t, 30*time.Millisecond, throttled(p, 30*time.Millisecond))
		require.Zero(t, throttled(p, -time.Second))
		time.AfterFunc(20*time.Millisecond, p.Stop)
		require.Equal(t, 20*time.Millisecond, throttled(p, time.Hour))
	})
}

// The event is committed, and its batch started, before its answer is delayed.
func TestAnswerWaitsForNoCommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := NewBulkStarter(nil, nil, 10, 2)
		defer p.Stop()
		table := newFakeInbox()
		intake := New(Options{BulkStarter: p, Inbox: table})
		p.BatchEnded(lateBatch(10, 400*time.Millisecond))
		answered := make(chan runs.Started)
		go func() {
			started, err := intake.commitOne(t.Context(), event.Received{Receipt: waiting(1), Bulk: true},
				&request{ackDeadline: time.Now().Add(time.Hour)})
			if err != nil {
				t.Error(err)
			}
			answered <- started
		}()
		synctest.Wait()
		require.Equal(t, 1, table.depth())
		require.Len(t, p.wakes, 1)
		require.Empty(t, answered)
		require.Equal(t, StateSpooled, (<-answered).State)
	})
}

// lane stands in for Temporal: each run takes some time and claims up to its limit.
type lane struct {
	taken   chan int
	running chan int
	waits   *atomic.Bool
}

func (l lane) Run(ctx context.Context, _ int) (int, error) {
	l.running <- 1
	defer func() { <-l.running }()
	select {
	case n := <-l.taken:
		return n, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func (l lane) BulkPositions(context.Context) (oldest, newest int64, err error) {
	if l.waits.Load() {
		return 1, 1, nil
	}
	return 0, 0, nil
}

// There is one run at a time until a batch is full.
func TestFullBatchesCallForHelp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := lane{taken: make(chan int), running: make(chan int, 9), waits: &atomic.Bool{}}
		fake.waits.Store(true)
		p := NewBulkStarter(fake, fake, 10, 3)
		p.Start()
		defer p.Stop()
		for range 5 {
			p.Wake()
			p.BatchEnded(lateBatch(9, time.Minute))
			synctest.Wait()
		}
		require.Len(t, fake.running, 1)
		p.BatchEnded(lateBatch(10, time.Minute))
		synctest.Wait()
		require.Len(t, fake.running, 2)
		p.BatchEnded(lateBatch(10, time.Minute))
		synctest.Wait()
		require.Len(t, fake.running, 3)
		for range 3 {
			fake.taken <- 4
		}
		synctest.Wait()
		require.Len(t, fake.running, 1, "it still waits for what may come")
		fake.waits.Store(false)
		fake.taken <- 4
		synctest.Wait()
		require.Empty(t, fake.running)
	})
}

// The limit on runs in flight holds however many batches are full.
func TestRunsUnderWayAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := lane{taken: make(chan int), running: make(chan int, 9), waits: &atomic.Bool{}}
		fake.waits.Store(true)
		p := NewBulkStarter(fake, fake, 10, 2)
		p.Start()
		defer p.Stop()
		for range 5 {
			p.BatchEnded(lateBatch(10, time.Minute))
			synctest.Wait()
		}
		p.Wake()
		synctest.Wait()
		require.Len(t, fake.running, 2)
	})
}

// Events that a run has claimed start no other run, however many signals came. A run that found nothing, because another
// process was faster, doesn't start the next one immediately.
func TestNoRunStartsForNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := lane{taken: make(chan int), running: make(chan int, 9), waits: &atomic.Bool{}}
		p := NewBulkStarter(fake, fake, 10, 1)
		p.Start()
		defer p.Stop()
		p.Wake()
		synctest.Wait()
		require.Empty(t, fake.running)
		fake.waits.Store(true)
		p.Wake()
		synctest.Wait()
		require.Len(t, fake.running, 1)
		fake.taken <- 0
		synctest.Wait()
		require.Empty(t, fake.running)
		elapse(busyPoll)
		synctest.Wait()
		require.Len(t, fake.running, 1)
	})
}

// looks are the results of successive polls; the last one repeats, and a nil one never answers.
type looks struct {
	spans [][]int64
	asked int
}

func (l *looks) BulkPositions(ctx context.Context) (oldest, newest int64, err error) {
	span := l.spans[min(l.asked, len(l.spans)-1)]
	if l.asked++; span == nil {
		<-ctx.Done()
		return 0, 0, ctx.Err()
	}
	return span[0], span[1], nil
}

// Batches of other processes claim new events; events that the previous poll saw were left behind. A poll without an answer
// delays the next one for a limited time.
func TestThePollFindsWhatIsLeft(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spans [][]int64
		wakes bool
	}{
		"nothing comes":                   {[][]int64{{0, 0}}, false},
		"each is taken":                   {[][]int64{{1, 2}, {3, 5}, {6, 6}, {0, 0}}, false},
		"one stays":                       {[][]int64{{1, 1}, {1, 1}, {0, 0}}, true},
		"more comes than is taken":        {[][]int64{{1, 9}, {4, 20}, {0, 0}}, true},
		"the answer to a look never came": {[][]int64{nil, {1, 1}, {1, 1}, {0, 0}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := NewBulkStarter(&looks{spans: c.spans}, nil, 10, 1)
				go p.poll()
				elapse(10 * time.Second)
				synctest.Wait()
				require.Equal(t, c.wakes, len(p.wakes) == 1)
				p.Stop()
				synctest.Wait()
			})
		})
	}
}

// The lane is polled every 40 ms for 5 s after an event of another process, and twice a second while idle.
func TestAnIdleLaneIsLookedAtSeldom(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spans [][]int64
		looks int
	}{
		"nothing comes":           {[][]int64{{0, 0}}, 20},
		"one comes, and is taken": {[][]int64{{1, 1}, {0, 0}}, 125 + 1 + 9},
		"one comes later":         {[][]int64{{0, 0}, {1, 1}, {0, 0}}, 1 + 125 + 1 + 8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				queue := &looks{spans: c.spans}
				p := NewBulkStarter(queue, nil, 10, 1)
				go p.poll()
				elapse(9900 * time.Millisecond)
				synctest.Wait()
				require.Equal(t, c.looks, queue.asked)
				p.Stop()
				synctest.Wait()
			})
		})
	}
}

// An event of this process is checked once more, in case it was left behind, and doesn't make the poll any faster.
func TestOwnEventsAreNotPolledFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		queue := &looks{spans: [][]int64{{1, 1}, {0, 0}}}
		p := NewBulkStarter(queue, nil, 10, 1)
		p.Expect("1")
		go p.poll()
		elapse(9900 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, 1+1+19, queue.asked)
		p.Stop()
		synctest.Wait()
	})
}
