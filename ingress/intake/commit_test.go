package intake

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.temporal.io/api/serviceerror"

	"holdfast/event"
	"holdfast/workflows/runs"
)

// spoolerFunc is a Spooler.
type spoolerFunc func() (bool, error)

func (f spoolerFunc) Spool(context.Context, event.Lane, event.Receipt, []byte, bool) (bool, error) {
	return f()
}

func (f spoolerFunc) SpoolLate(context.Context, event.Receipt, []byte, bool, time.Duration) (bool, error) {
	return f()
}

func (f spoolerFunc) Copy(context.Context, event.Receipt, []byte, time.Duration) error {
	_, err := f()
	return err
}

func (f spoolerFunc) KeepLarge(context.Context, event.Receipt, []byte, bool, time.Duration) (bool, error) {
	return f()
}

// committer is an intake with a fake Temporal.
type committer struct {
	*Intake
	temporal *fakeStarter
	next     int
}

func newCommitter(t *testing.T, spooler Spooler) *committer {
	t.Helper()
	remover, _ := spooler.(InboxRemover)
	temporal := newFakeStarter()
	i := New(Options{
		Starter: temporal, Inbox: spooler, Remover: remover, Breaker: NewBreaker(4),
		StartTimeout: 2 * time.Second, AckBudget: 400 * time.Millisecond, CommitTimeout: 3 * time.Second,
	})
	return &committer{Intake: i, temporal: temporal}
}

// send commits a new event and returns how long that took.
func (c *committer) send(t *testing.T) (runs.Started, time.Duration, error) {
	t.Helper()
	c.next++
	begin := time.Now()
	ctx, cancel := runs.WithTimeout(t.Context(), c.CommitTimeout)
	defer cancel()
	started, err := c.commitOne(ctx, event.Received{Receipt: waiting(c.next)},
		&request{ackDeadline: begin.Add(c.AckBudget), slots: make(chan struct{}, 1)})
	return started, time.Since(begin), err
}

// Temporal hangs: the answer comes within the ACK budget, the late start continues, and after some of them requests no longer
// wait.
func TestAHangingTemporalCostsTheAckBudgetAtMost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := newFakeInbox()
		c := newCommitter(t, table)
		c.Breaker = NewBreaker(32)
		c.temporal.during = func(context.Context) { elapse(10 * time.Second) }
		for range tripAfter {
			started, took, err := c.send(t)
			require.NoError(t, err)
			require.Equal(t, StateSpooled, started.State)
			require.Equal(t, c.AckBudget, took)
		}
		started, took, err := c.send(t)
		require.NoError(t, err)
		require.Equal(t, StateSpooled, started.State)
		require.Zero(t, took, "nobody waits for a store that is down")
		elapse(time.Minute)
		require.Len(t, c.temporal.all(), tripAfter, "the late starts went on")
		require.Equal(t, 1, table.depth(), "and have left the inbox")
	})
}

// A late start answers if the inbox fails.
func TestALateStartAnswersWhereTheInboxFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCommitter(t, spoolerFunc(func() (bool, error) { return false, errAway }))
		c.temporal.during = func(context.Context) { elapse(time.Second) }
		started, took, err := c.send(t)
		require.NoError(t, err)
		require.Equal(t, runs.StateAccepted, started.State)
		require.Equal(t, time.Second, took)
	})
}

// A Temporal that is slower than the ACK budget is no outage while there is nothing else: after a database failed over, nine of
// ten events were refused for its 20 seconds.
func TestASlowTemporalAcceptsWhileTheInboxFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCommitter(t, spoolerFunc(func() (bool, error) { return false, errAway }))
		c.temporal.during = func(context.Context) { elapse(c.AckBudget + time.Millisecond) }
		for n := range 3 * tripAfter {
			started, _, err := c.send(t)
			require.NoError(t, err, n)
			require.Equal(t, runs.StateAccepted, started.State)
		}

		c.temporal.before = func(event.Receipt) error { return serviceerror.NewUnavailable("away") }
		for range tripAfter {
			_, _, err := c.send(t)
			require.Error(t, err)
		}
		c.temporal.before = nil
		elapse(breakerPause + time.Millisecond)
		_, _, err := c.send(t)
		require.Error(t, err, "the request that probes Temporal gets a quick answer")
		elapse(c.AckBudget)
		_, _, err = c.send(t)
		require.NoError(t, err, "its start goes on, and shows that Temporal is back")
	})
}

// Both stores are down: after a few requests the answer comes immediately.
func TestBothStoresDownAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		c := newCommitter(t, spoolerFunc(func() (bool, error) { asked++; return false, errAway }))
		c.temporal.before = func(event.Receipt) error { return serviceerror.NewUnavailable("away") }
		for range tripAfter {
			_, _, err := c.send(t)
			require.ErrorIs(t, err, errAway)
		}
		asked = 0
		_, took, err := c.send(t)
		require.Error(t, err)
		require.Zero(t, took)
		require.Zero(t, asked, "nor is the inbox asked")
	})
}

// Both stores hang: once they count as down, even the request that probes them gets a quick answer.
func TestBothStoresHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCommitter(t, spoolerFunc(func() (bool, error) { return false, errAway }))
		c.Breaker = NewBreaker(100)
		c.temporal.during = func(context.Context) { elapse(time.Minute) }
		for range tripAfter {
			_, took, err := c.send(t)
			require.Error(t, err)
			require.LessOrEqual(t, took, c.CommitTimeout)
		}
		for range 10 {
			_, took, err := c.send(t)
			require.Error(t, err)
			require.LessOrEqual(t, took, probeGrace)
			elapse(breakerPause + time.Millisecond)
		}
		elapse(2 * time.Minute) // starts whose requests are gone
	})
}

// With too many starts in flight, further events go to the inbox immediately, or through Temporal if there is none.
func TestTooManyStartsOverflow(t *testing.T) {
	t.Parallel()
	for _, withInbox := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			table := newFakeInbox()
			var spooler Spooler
			if withInbox {
				spooler = table
			}
			c := newCommitter(t, spooler)
			c.temporal.during = func(context.Context) { elapse(150 * time.Millisecond) }
			const events = 10
			states := make(chan runs.State, events)
			for n := range events {
				go func() {
					started, err := c.commitOne(t.Context(), event.Received{Receipt: waiting(n)},
						&request{ackDeadline: time.Now().Add(c.AckBudget), slots: make(chan struct{}, 1)})
					if err != nil {
						started.State = runs.State(err.Error())
					}
					states <- started.State
				}()
			}
			got := map[runs.State]int{}
			for range events {
				got[<-states]++
			}
			if withInbox {
				require.Equal(t, map[runs.State]int{runs.StateAccepted: 8, StateSpooled: 2}, got)
			} else {
				require.Equal(t, map[runs.State]int{runs.StateAccepted: events}, got)
			}
		})
	}
}

// An event that Temporal refuses permanently goes to the inbox, and Temporal doesn't count as down.
func TestEventsThatTemporalRefusesAreSpooled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCommitter(t, newFakeInbox())
		c.temporal.before = func(r event.Receipt) error {
			return fmt.Errorf("start workflow: %w", serviceerror.NewInvalidArgument("too large"))
		}
		for range 2 * tripAfter {
			started, _, err := c.send(t)
			require.NoError(t, err)
			require.Equal(t, StateSpooled, started.State)
		}
		c.temporal.before = nil
		started, _, err := c.send(t)
		require.NoError(t, err)
		require.Equal(t, runs.StateAccepted, started.State)
	})
}

// An event whose key is already in the inbox is a duplicate.
func TestADuplicateOfAWaitingEvent(t *testing.T) {
	t.Parallel()
	c := newCommitter(t, spoolerFunc(func() (bool, error) { return false, nil }))
	c.temporal.before = func(event.Receipt) error { return errAway }
	started, _, err := c.send(t)
	require.NoError(t, err)
	require.Equal(t, runs.StateProcessing, started.State)
	require.Empty(t, started.EventID)
}

// The drain polls immediately after Temporal has refused an event, but not after an event that came while Temporal is down.
func TestSpooledEventsWakeTheDrainUnlessTemporalIsDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCommitter(t, newFakeInbox())
		c.temporal.before = func(event.Receipt) error { return serviceerror.NewUnavailable("away") }
		for range tripAfter {
			require.Empty(t, c.Breaker.wakes)
			_, _, err := c.send(t)
			require.NoError(t, err)
			<-c.Breaker.wakes
		}
		started, _, err := c.send(t)
		require.NoError(t, err)
		require.Equal(t, StateSpooled, started.State)
		require.True(t, c.Breaker.isDown())
		require.Empty(t, c.Breaker.wakes)
	})
}

// An event counts as spooled if the inbox has stored it, even while its start continues, and not if the inbox has failed or has the
// event already.
func TestSpooledEventsAreCounted(t *testing.T) { //nolint:paralleltest // it sets the meters of the process
	reader, before := metric.NewManualReader(), otel.GetMeterProvider()
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(reader)))
	defer otel.SetMeterProvider(before)
	synctest.Test(t, func(t *testing.T) {
		table := newFakeInbox()
		c := newCommitter(t, table)
		c.temporal.during = func(context.Context) { elapse(time.Second) }
		for range 3 {
			_, _, err := c.send(t)
			require.NoError(t, err)
		}
		c.next-- // the sender delivers the last one again
		_, _, err := c.send(t)
		require.NoError(t, err)
		failing := newCommitter(t, failingInbox{newFakeInbox()})
		failing.temporal.during = c.temporal.during
		_, _, err = failing.send(t)
		require.NoError(t, err)
		elapse(time.Minute)
	})
	var found metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &found))
	var spooled int64
	for _, scope := range found.ScopeMetrics {
		for _, m := range scope.Metrics {
			if sum, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == "holdfast_events_spooled_total" {
				for _, point := range sum.DataPoints {
					spooled += point.Value
				}
			}
		}
	}
	require.EqualValues(t, 3, spooled)
}

// Temporal comes back: single starts probe it, and after the first success all starts go through.
func TestTheBreakerClosesAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCommitter(t, newFakeInbox())
		c.temporal.before = func(event.Receipt) error { return serviceerror.NewUnavailable("away") }
		for range 2 * tripAfter {
			_, _, err := c.send(t)
			require.NoError(t, err)
		}
		c.temporal.before = nil
		started, _, err := c.send(t)
		require.NoError(t, err)
		require.Equal(t, StateSpooled, started.State)
		elapse(breakerPause + time.Millisecond)
		for range 3 {
			started, _, err = c.send(t)
			require.NoError(t, err)
			require.Equal(t, runs.StateAccepted, started.State)
		}
	})
}

// Concurrent identical requests:
//   - Temporal is asked once
//   - one of them is accepted, all others are its duplicates, with its ID
func TestIdenticalRequestsShareAStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const requests = 50
		release, asked := make(chan struct{}), 0
		starter := newFakeStarter()
		starter.before = func(event.Receipt) error {
			asked++
			<-release
			return nil
		}
		i := New(Options{Starter: starter, StartTimeout: time.Minute, Breaker: NewBreaker(1)})
		results, failures := make(chan runs.Started, requests), make(chan error, requests)
		for k := range requests {
			go func() {
				r := event.Receipt{ID: fmt.Sprint(k), Provider: "stripe", Key: "evt_1"}
				started, err := i.commitOne(t.Context(), event.Received{Receipt: r}, &request{slots: make(chan struct{}, 1)})
				results <- started
				failures <- err
			}()
		}
		synctest.Wait() // all of them wait for the one start
		close(release)
		states, ids := map[runs.State]int{}, map[string]bool{}
		for range requests {
			started := <-results
			require.NoError(t, <-failures)
			states[started.State]++
			ids[started.EventID] = true
		}
		require.Equal(t, map[runs.State]int{runs.StateAccepted: 1, runs.StateProcessing: requests - 1}, states)
		require.Len(t, ids, 1)
		require.Equal(t, 1, asked)
	})
}

// Two identical requests share a commit to the inbox: the duplicate names no event, since another request's event may get the key.
func TestADuplicateOfASpooledEventNamesNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCommitter(t, newFakeInbox())
		c.temporal.during = func(context.Context) { elapse(time.Minute) }
		results := make(chan runs.Started, 2)
		for range 2 {
			go func() {
				started, err := c.commitOne(t.Context(),
					event.Received{Receipt: waiting(1)}, &request{ackDeadline: time.Now().Add(time.Second), slots: make(chan struct{}, 1)})
				assert.NoError(t, err)
				results <- started
			}()
		}
		ids := map[runs.State]string{}
		for range 2 {
			started := <-results
			ids[started.State] = started.EventID
		}
		require.Equal(t, map[runs.State]string{StateSpooled: waiting(1).ID, runs.StateProcessing: ""}, ids)
		elapse(time.Minute) // the start ends
	})
}

// A start is late while Temporal counts as down, and no inbox is left: the request stops waiting. Until both are so, it waits
// for the start.
func TestOnlyASlowStartOfAnUnavailableTemporalIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		up, down := NewBreaker(2*tripAfter), NewBreaker(2*tripAfter)
		for range tripAfter {
			p, _ := down.admit(t.Context(), time.Time{}, false)
			defer p.end(nil)
			<-time.After(time.Millisecond)
			p.reportLate()
		}
		require.True(t, down.isDown())
		for _, c := range []struct {
			breaker *Breaker
			clock   clockState
			want    action
		}{
			{down, overBudget, giveUp},
			{up, overBudget, await},
			{down, inBudget, await},
		} {
			at := commitment{Intake: &Intake{Options: Options{Breaker: c.breaker}}, start: started, store: unavailable, clock: c.clock}
			require.Equal(t, c.want, at.next())
		}
	})
}
