package intake

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"holdfast/event"
	"holdfast/workflows/runs"
)

// Temporal confirms events late that are in the inbox by then:
//   - the answers came within the ACK budget
//   - one statement removes them all from the inbox, and a running drain has started none of them again
func TestALateConfirmationLeavesTheInbox(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table, asked := newFakeInbox(), atomic.Int32{}
		c := newCommitter(t, table)
		c.temporal.during = func(context.Context) {
			asked.Add(1)
			elapse(time.Second)
		}
		stop := runDrain(t, table, c.temporal, c.Breaker)
		var all sync.WaitGroup
		for n := range 3 {
			all.Go(func() {
				started, err := c.commitOne(t.Context(), event.Received{Receipt: waiting(n)},
					&request{ackDeadline: time.Now().Add(c.AckBudget), slots: make(chan struct{}, 1)})
				if err != nil || started.State != StateSpooled {
					t.Error(started, err)
				}
			})
		}
		all.Wait()
		require.Equal(t, 3, table.depth())
		elapse(time.Minute)
		require.Zero(t, table.depth())
		require.Equal(t, 1, table.statements)
		require.EqualValues(t, 3, asked.Load())
		stop()
		require.NoError(t, c.late.close(t.Context()))
	})
}

// A late start that fails delays its row in the inbox: the drain starts it.
func TestALateFailureStaysInTheInbox(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := newFakeInbox()
		c := newCommitter(t, table)
		c.temporal.during = func(context.Context) { elapse(time.Second) }
		c.temporal.before = func(event.Receipt) error { return serviceerror.NewUnavailable("away") }
		started, _, err := c.send(t)
		require.NoError(t, err)
		require.Equal(t, StateSpooled, started.State)
		elapse(time.Minute)
		require.Equal(t, 1, table.depth())
		synctest.Wait() // the start has ended
		c.temporal.before = nil
		stop := runDrain(t, table, c.temporal, c.Breaker)
		elapse(time.Minute)
		require.Zero(t, table.depth())
		require.Len(t, c.temporal.all(), 1)
		stop()
	})
}

// Another event of the same key is in the inbox: its own start wasn't confirmed, so it stays.
func TestAnotherEventOfTheKeyStaysInTheInbox(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := newFakeInbox()
		c := newCommitter(t, table)
		other := waiting(1) // the key of the event that is sent
		other.ID = "another"
		_, err := table.Spool(t.Context(), event.LaneOverflow, other, nil, false)
		require.NoError(t, err)
		c.temporal.during = func(context.Context) { elapse(time.Second) }
		started, _, err := c.send(t)
		require.NoError(t, err)
		require.Equal(t, runs.StateProcessing, started.State)
		elapse(time.Minute)
		require.Equal(t, 1, table.depth())
		require.Zero(t, table.statements, "this event is not in the inbox")
	})
}

// failingInbox stores nothing.
type failingInbox struct{ *fakeInbox }

func (f failingInbox) SpoolLate(context.Context, event.Receipt, []byte, bool, time.Duration) (bool, error) {
	return false, errAway
}

// The inbox has refused an event whose start is confirmed late: there is nothing to remove.
func TestUnstoredEventsAreNotRemovedFromTheInbox(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := failingInbox{newFakeInbox()}
		c := newCommitter(t, table)
		c.temporal.during = func(context.Context) { elapse(time.Second) }
		started, _, err := c.send(t)
		require.NoError(t, err)
		require.Equal(t, runs.StateAccepted, started.State)
		elapse(time.Minute)
		require.Zero(t, table.statements)
	})
}

// slowInbox stores an event long before it answers.
type slowInbox struct{ *fakeInbox }

func (f slowInbox) SpoolLate(
	ctx context.Context, r event.Receipt, body []byte, rejectRedelivery bool, delay time.Duration,
) (bool, error) {
	_, _ = f.fakeInbox.SpoolLate(ctx, r, body, rejectRedelivery, delay)
	<-ctx.Done()
	return false, context.Cause(ctx)
}

// The start is confirmed while the inbox is still writing: the row is removed if it was written, and the inbox doesn't count as
// down.
func TestAStartThatComesFirstLeavesTheInbox(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := slowInbox{newFakeInbox()}
		c := newCommitter(t, table)
		for n := range 4 * tripAfter {
			c.temporal.during = nil // every other start is in time: Temporal is slow, not down
			if n%2 == 0 {
				c.temporal.during = func(context.Context) { elapse(500 * time.Millisecond) }
			}
			started, _, err := c.send(t)
			require.NoError(t, err)
			require.Equal(t, runs.StateAccepted, started.State)
		}
		require.False(t, c.inbox.isDown())
		elapse(time.Minute)
		require.Zero(t, table.depth())
	})
}

// removerFunc is an InboxRemover.
type removerFunc func(events int) error

func (f removerFunc) RemoveFromInbox(_ context.Context, _, eventIDs []string) ([]string, error) {
	return nil, f(len(eventIDs))
}

// Whatever the database does, requests don't wait for removals, the queue is bounded, and close waits for the queue.
func TestRemovingNeverWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var groups []int
		f := newLateConfirmations(removerFunc(func(events int) error {
			groups = append(groups, events)
			elapse(time.Hour)
			if len(groups) == 1 {
				panic("the first")
			}
			return errAway
		}))
		begin := time.Now()
		f.add(waiting(0))
		elapse(time.Minute)
		for n := range 2 * maxLate {
			f.add(waiting(n))
		}
		require.Equal(t, time.Minute, time.Since(begin))
		impatient, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(t, f.close(impatient), context.DeadlineExceeded)
		f.add(waiting(1)) // too late
		require.NoError(t, f.close(t.Context()))
		require.Equal(t, []int{1, maxLate}, groups)
	})
}
