package ingress

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"holdfast/event"
)

func waiting(n int) event.Receipt {
	return event.Receipt{ID: fmt.Sprintf("id-%d", n), Provider: "stripe", Key: fmt.Sprintf("evt_%d", n)}
}

// runDrain drains until the function that it gives is called.
func runDrain(t *testing.T, queue InboxQueue, starter EventStarter, gate *Gate) (stop func()) {
	t.Helper()
	drain, err := NewDrain(queue, starter, gate, 2*time.Second)
	require.NoError(t, err)
	go drain.Run()
	return func() { require.NoError(t, drain.Stop(context.Background())) }
}

// Whatever goes wrong around the inbox and Temporal, in whatever order, with two processes that drain:
//   - what was acknowledged is started, and leaves the inbox only then
func TestDrainUnderFaults(t *testing.T) {
	t.Parallel()
	for range 30 {
		seed := rand.Uint64()
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { drainUnderFaults(t, seed) })
		})
	}
}

func drainUnderFaults(t *testing.T, seed uint64) {
	const events = 60
	broken := newFaults(seed, 0.3)
	table, temporal := newFakeInbox(), newFakeStarter()
	table.gone = func(row event.Waiting) {
		if _, ok := temporal.all()[row.Receipt.WorkflowID()]; !ok {
			t.Errorf("%s left the inbox and was never started", row.Receipt.WorkflowID())
		}
	}
	inbox, starter := &faultyInbox{table, broken}, &faultyStarter{temporal, broken}
	gates := []*Gate{NewGate(8), NewGate(8)}
	var stops []func()
	for _, gate := range gates {
		stops = append(stops, runDrain(t, inbox, starter, gate))
	}
	server := &Server{
		Options: Options{Starter: starter, Gate: gates[0], StartTimeout: 2 * time.Second, AckBudget: 400 * time.Millisecond},
		inbox:   newInbox(inbox),
	}
	var err error
	server.metrics, err = newRequestMetrics()
	require.NoError(t, err)
	server.forgets, err = newForgets(inbox)
	require.NoError(t, err)
	acknowledged := map[string]bool{}
	for n := range events {
		r := waiting(n % (events - 10)) // the last ones are redeliveries
		ctx, cancel := withTimeout(t.Context(), 3*time.Second)
		_, err := server.commitOnce(ctx, arrival{
			receipt: r, slowAt: time.Now().Add(server.AckBudget), turns: make(chan struct{}, 1),
		})
		cancel()
		if err == nil {
			acknowledged[r.WorkflowID()] = true
		}
	}
	broken.stop()
	elapse(2 * maxPostpone)
	synctest.Wait()
	require.Zero(t, table.depth(), "the inbox is empty")
	for id := range acknowledged {
		require.Contains(t, temporal.all(), id, "it was acknowledged")
	}
	for _, stop := range stops {
		stop()
	}
	elapse(time.Minute) // starts that nobody waited for
	require.NoError(t, server.forgets.close(t.Context()))
}

// Temporal is away and comes back: the inbox is drained at once, and nothing is asked of Temporal meanwhile but a probe now and
// then.
func TestDrainWaitsForTemporal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table, temporal, gate := newFakeInbox(), newFakeStarter(), NewGate(32)
		asked, away := 0, true
		temporal.before = func(event.Receipt) error {
			temporal.mu.Lock()
			defer temporal.mu.Unlock()
			asked++
			if away {
				return serviceerror.NewUnavailable("away")
			}
			return nil
		}
		for n := range 500 {
			_, err := table.Spool(t.Context(), event.LaneOverflow, waiting(n), nil, false)
			require.NoError(t, err)
		}
		stop := runDrain(t, table, temporal, gate)
		defer stop()
		elapse(time.Minute)
		require.Equal(t, 500, table.depth())
		temporal.mu.Lock()
		require.Less(t, asked, 150)
		away = false
		temporal.mu.Unlock()
		elapse(maxPostpone + 2*drainPoll)
		require.Zero(t, table.depth())
	})
}

// What Temporal refuses for good becomes a dead letter: at once where it takes others, and only after a while where it takes
// nothing at all, which may be the fault of its configuration.
func TestDrainBuriesWhatTemporalRefuses(t *testing.T) {
	t.Parallel()
	for _, takesOthers := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			table, temporal, gate := newFakeInbox(), newFakeStarter(), NewGate(32)
			temporal.before = func(r event.Receipt) error {
				if r.Key == "evt_0" {
					return fmt.Errorf("start workflow: %w", serviceerror.NewInvalidArgument("Blob data size exceeds limit."))
				}
				return nil
			}
			_, _ = table.Spool(t.Context(), event.LaneOverflow, waiting(0), nil, false)
			stop := runDrain(t, table, temporal, gate)
			defer stop()
			elapse(10 * time.Second)
			require.Empty(t, table.graves())
			if takesOthers {
				_, _ = table.Spool(t.Context(), event.LaneOverflow, waiting(1), nil, false)
				elapse(maxPostpone + drainPoll)
			} else {
				elapse(buryAfter * (maxPostpone + drainPoll))
			}
			require.Zero(t, table.depth())
			buried := table.graves()["stripe:evt_0"]
			require.Equal(t, event.ClassRejected, buried.Class)
			require.Equal(t, "not_startable", buried.Code)
			require.Contains(t, buried.Message, "Blob data size exceeds limit.")
		})
	}
}

// The drain leaves room to live events, and does not stand still for them.
func TestDrainYieldsToLiveEvents(t *testing.T) {
	t.Parallel()
	gate := NewGate(8)
	require.Equal(t, 4, gate.room(0))
	var passes []*pass
	for range 8 {
		p, reason := gate.enter(false)
		require.Empty(t, reason)
		passes = append(passes, p)
	}
	require.Equal(t, leastRoom, gate.room(0))
	_, reason := gate.enter(false)
	require.Equal(t, reasonBusy, reason)
	for _, p := range passes {
		p.end(nil)
	}
	require.Equal(t, 4, gate.room(0))
}

// The longer events wait, the more of them are started beside live ones, up to a quarter; never more while Temporal is away.
func TestDrainTakesMoreTheLongerEventsWait(t *testing.T) {
	t.Parallel()
	gate := NewGate(32)
	var passes []*pass
	for range 32 {
		p, reason := gate.enter(false)
		require.Empty(t, reason)
		passes = append(passes, p)
	}
	for waited, want := range map[time.Duration]int{
		-time.Hour: leastRoom, 0: leastRoom, 3 * roomGrowth: leastRoom + 3, time.Minute: 8, 1 << 62: 8,
	} {
		require.Equal(t, want, gate.room(waited), waited)
	}
	passes[0].end(nil)
	followed := gate.follow()
	_, reason := gate.enter(false)
	require.Equal(t, reasonBusy, reason, "the share of the inbox is none of live events")
	followed.end(nil)
	_, reason = gate.enter(false)
	require.Empty(t, reason)
	for range tripAfter {
		gate.follow().end(errAway)
	}
	require.Zero(t, gate.room(time.Hour))
}

// Live traffic takes every start that it may, all the time: what waits in the inbox is started all the same.
func TestLiveEventsDoNotStarveTheInbox(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table, temporal, gate := newFakeInbox(), newFakeStarter(), NewGate(32)
		for range 32 {
			_, reason := gate.enter(false)
			require.Empty(t, reason)
		}
		temporal.during = func(context.Context) { elapse(500 * time.Millisecond) }
		for n := range 100 {
			r := waiting(n)
			r.ReceivedAt = time.Now()
			_, err := table.Spool(t.Context(), event.LaneOverflow, r, nil, false)
			require.NoError(t, err)
		}
		stop := runDrain(t, table, temporal, gate)
		defer stop()
		elapse(12 * time.Second) // one after the other they would take 50
		require.Zero(t, table.depth())
	})
}

// The bulk lane is not the drain's.
func TestDrainLeavesTheBulkLane(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := newFakeInbox()
		_, _ = table.Spool(t.Context(), event.LaneBulk, waiting(0), nil, false)
		stop := runDrain(t, table, newFakeStarter(), NewGate(1))
		defer stop()
		elapse(time.Minute)
		require.Equal(t, 1, table.depth())
	})
}

var errAway = errors.New("away")
