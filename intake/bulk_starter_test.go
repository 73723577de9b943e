package intake

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/runs"
)

// lateBatch is a batch of n events, the oldest of which was received so long ago.
func lateBatch(n int, age time.Duration) []event.Batched {
	events := make([]event.Batched, n)
	for i := range events {
		events[i].Receipt.ReceivedAt = time.Now().Add(-age / time.Duration(i+1))
	}
	return events
}

// throttled is how long an answer waits.
func throttled(p *BulkStarter, budget time.Duration) time.Duration {
	start := time.Now()
	p.Throttle(start.Add(budget))
	return time.Since(start)
}

// Answers wait for a part of the time by which the lane is late, while it is: a batch has left events waiting, and not long ago.
func TestAnswersWaitWhileTheLaneIsLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := NewBulkStarter(nil, nil, 10, 2)
		defer p.Stop()
		require.Zero(t, throttled(p, time.Hour), "nothing is known")
		p.Took(lateBatch(10, 400*time.Millisecond))
		require.Equal(t, 50*time.Millisecond, throttled(p, time.Hour))
		p.Took(lateBatch(10, time.Hour))
		require.Equal(t, maxThrottle, throttled(p, time.Hour), "a backlog of an outage is worked off, and nobody waits for all of it")
		p.Took(lateBatch(9, time.Hour))
		require.Zero(t, throttled(p, time.Hour), "nothing was left behind")
		p.Took(lateBatch(10, time.Second))
		elapse(lateFor + time.Millisecond)
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
		p.Took(lateBatch(10, time.Hour))
		require.Equal(t, 30*time.Millisecond, throttled(p, 30*time.Millisecond))
		require.Zero(t, throttled(p, -time.Second))
		time.AfterFunc(20*time.Millisecond, p.Stop)
		require.Equal(t, 20*time.Millisecond, throttled(p, time.Hour))
	})
}

// The event is committed, and its batch called, before its answer waits.
func TestAnswerWaitsForNoCommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := NewBulkStarter(nil, nil, 10, 2)
		defer p.Stop()
		table := newFakeInbox()
		intake, err := New(Options{BulkStarter: p, Inbox: table})
		require.NoError(t, err)
		p.Took(lateBatch(10, 400*time.Millisecond))
		answered := make(chan runs.Started)
		go func() {
			started, err := intake.commitOnce(t.Context(), arrival{Event: Event{Receipt: waiting(1), Bulk: true}, slowAt: time.Now().Add(time.Hour)})
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

// lane stands in for Temporal: each run takes a while, and as much as it is told to. It is empty once nothing is left.
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

func (l lane) BulkWaits(context.Context) (bool, error) { return l.waits.Load(), nil }

// One run is under way at a time, until a batch is full.
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
			p.Took(lateBatch(9, time.Minute))
			synctest.Wait()
		}
		require.Len(t, fake.running, 1)
		p.Took(lateBatch(10, time.Minute))
		synctest.Wait()
		require.Len(t, fake.running, 2)
		p.Took(lateBatch(10, time.Minute))
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

// What one run has taken is no reason for another one, however often its arrival was told; nor does a run that found nothing, since
// somebody else was faster, make the next one at once.
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
