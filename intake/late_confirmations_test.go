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
	"holdfast/runs"
)

// Temporal confirms late what was put into the inbox meanwhile:
//   - the answers came with the ACK budget
//   - all of them leave the inbox with one statement, and a drain that runs has asked Temporal for none of them again
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
				started, err := c.commitOnce(t.Context(), arrival{
					Event: Event{Receipt: waiting(n)}, slowAt: time.Now().Add(c.AckBudget), slots: make(chan struct{}, 1),
				})
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

// A late start that fails leaves its row: the drain starts it.
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

// Another event of the same key waits in the inbox: its own start was not confirmed, so it stays.
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
func TestWhatTheInboxHasNotStoredIsNotRemoved(t *testing.T) {
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

// slowInbox has stored an event long before it says so.
type slowInbox struct{ *fakeInbox }

func (f slowInbox) SpoolLate(
	ctx context.Context, r event.Receipt, body []byte, reject bool, leave time.Duration,
) (bool, error) {
	_, _ = f.fakeInbox.SpoolLate(ctx, r, body, reject, leave)
	<-ctx.Done()
	return false, context.Cause(ctx)
}

// The start comes first while the inbox is still writing: what it has written all the same is removed, and the inbox does not
// count as down for that.
func TestAStartThatComesFirstLeavesTheInbox(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := slowInbox{newFakeInbox()}
		c := newCommitter(t, table)
		for n := range 4 * tripAfter {
			c.temporal.during = nil // every other one is in time: Temporal is slow, and not down
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

// Whatever the database does: nobody waits for it, what waits is bounded, and the end comes after what waits.
func TestRemovingNeverWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var groups []int
		f, err := newLateConfirmations(removerFunc(func(events int) error {
			groups = append(groups, events)
			elapse(time.Hour)
			if len(groups) == 1 {
				panic("the first")
			}
			return errAway
		}))
		require.NoError(t, err)
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
