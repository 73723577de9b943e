package intake

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/workflows/runs"
)

func waiting(n int) event.Receipt {
	return event.Receipt{ID: fmt.Sprintf("id-%d", n), Provider: "stripe", Key: fmt.Sprintf("evt_%d", n)}
}

// runDrain drains until the returned function is called.
func runDrain(t *testing.T, queue InboxQueue, starter EventStarter, breaker *Breaker) (stop func()) {
	t.Helper()
	drain := NewDrain(queue, starter, nil, breaker, 2*time.Second)
	go drain.Run()
	return func() { require.NoError(t, drain.Stop(context.Background())) }
}

// Whatever faults the inbox and Temporal have, with two draining processes:
//   - every acknowledged event is started, and leaves the inbox only then
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
	breakers := []*Breaker{NewBreaker(8), NewBreaker(8)}
	var stops []func()
	for _, breaker := range breakers {
		stops = append(stops, runDrain(t, inbox, starter, breaker))
	}
	intake := New(Options{
		Starter: starter, Inbox: inbox, Remover: inbox, Breaker: breakers[0],
		StartTimeout: 2 * time.Second, AckBudget: 400 * time.Millisecond,
	})
	acknowledged := map[string]bool{}
	for n := range events {
		r := waiting(n % (events - 10)) // the last ones are redeliveries
		ctx, cancel := runs.WithTimeout(t.Context(), 3*time.Second)
		_, err := intake.commitOne(ctx, event.Received{Receipt: r},
			&request{ackDeadline: time.Now().Add(intake.AckBudget), slots: make(chan struct{}, 1)})
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
	elapse(time.Minute) // starts whose requests are gone
	require.NoError(t, intake.Close(t.Context()))
}

// Temporal goes down and comes back: the inbox is drained immediately, and meanwhile Temporal gets only occasional probes.
func TestDrainWaitsForTemporal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table, temporal, breaker := newFakeInbox(), newFakeStarter(), NewBreaker(32)
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
		stop := runDrain(t, table, temporal, breaker)
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

// askedInbox is a fakeInbox that counts how often it is asked for events. Time passes with each question, so that a drain without
// a pause ends, too.
type askedInbox struct {
	*fakeInbox

	asked atomic.Int64
}

func (a *askedInbox) DrainInbox(
	ctx context.Context, lane event.Lane, limit int, settle func(context.Context, []event.Waiting) []event.StartOutcome,
) (int, error) {
	a.asked.Add(1)
	elapse(time.Millisecond)
	return a.fakeInbox.DrainInbox(ctx, lane, limit, settle)
}

// Temporal was down, and the start of a request tests for some seconds whether it is back:
//   - the drain, which may not start anything meanwhile, doesn't ask the database again and again
//   - when Temporal is back, the inbox is drained immediately
func TestDrainWaitsForTheProbeOfARequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table, temporal, breaker := &askedInbox{fakeInbox: newFakeInbox()}, newFakeStarter(), NewBreaker(32)
		_, err := table.Spool(t.Context(), event.LaneOverflow, waiting(0), nil, false)
		require.NoError(t, err)
		for range tripAfter {
			p, _ := breaker.admit(t.Context(), time.Now(), true)
			p.end(serviceerror.NewUnavailable("away"))
		}
		elapse(2 * breakerPause)
		probe, _ := breaker.admit(t.Context(), time.Now(), true)
		require.True(t, probe.probe)
		stop := runDrain(t, table, temporal, breaker)
		defer stop()
		elapse(3 * time.Second)
		require.LessOrEqual(t, table.asked.Load(), int64(10))
		require.Equal(t, 1, table.depth())
		probe.end(nil)
		elapse(10 * time.Millisecond)
		require.Zero(t, table.depth())
	})
}

// refusing is a Temporal that refuses the events of the keys or, with a broken setup, all events.
type refusing struct {
	*fakeStarter

	atFault atomic.Bool
}

func newRefusing(keys ...string) *refusing {
	temporal := &refusing{fakeStarter: newFakeStarter()}
	temporal.before = func(r event.Receipt) error {
		if temporal.atFault.Load() || slices.Contains(keys, r.Key) {
			return fmt.Errorf("start workflow: %w", serviceerror.NewInvalidArgument("Blob data size exceeds limit."))
		}
		return nil
	}
	return temporal
}

// Temporal refuses one event repeatedly:
//   - if it accepts others meanwhile, that one becomes a dead letter after a minute
//   - if it accepts none, the event waits: the setup may be at fault
func TestDrainMakesADeadLetterOfARefusedEvent(t *testing.T) {
	t.Parallel()
	for _, takesOthers := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			table, temporal, breaker := newFakeInbox(), newRefusing("evt_0"), NewBreaker(32)
			for n := range 2 {
				_, _ = table.Spool(t.Context(), event.LaneOverflow, waiting(n), nil, false)
			}
			stop := runDrain(t, table, temporal, breaker)
			defer stop()
			for n := range 60 {
				elapse(time.Second)
				require.Empty(t, table.graves(), "it may be the fault of the set-up")
				if takesOthers {
					_, _ = table.Spool(t.Context(), event.LaneOverflow, waiting(n+2), nil, false)
				}
			}
			elapse(2 * maxPostpone)
			if !takesOthers {
				require.Empty(t, table.graves())
				require.Equal(t, 1, table.depth())
				return
			}
			require.Zero(t, table.depth())
			require.Len(t, table.graves(), 1)
			buried := table.graves()["stripe:evt_0"]
			require.Equal(t, event.ClassRejected, buried.Class)
			require.Equal(t, "not_startable", buried.Code)
			require.Contains(t, buried.Message, "Blob data size exceeds limit.")
		})
	}
}

// A workflow that processes no events has the workflow ID of an event:
//   - the first drain buries the event, and the reason names the workflow
//   - Temporal doesn't count as down
func TestDrainBuriesAnEventWhoseIDIsTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table, temporal, breaker := newFakeInbox(), newFakeStarter(), NewBreaker(32)
		temporal.before = func(r event.Receipt) error {
			return &runs.IDTakenError{WorkflowID: r.WorkflowID(), RunID: "run-1", Type: "OrderWorkflow"}
		}
		const many = 2 * tripAfter
		for n := range many {
			_, _ = table.Spool(t.Context(), event.LaneOverflow, waiting(n), nil, false)
		}
		stop := runDrain(t, table, temporal, breaker)
		defer stop()
		elapse(drainRetry)
		require.Len(t, table.graves(), many)
		require.False(t, breaker.isDown())
		buried := table.graves()["stripe:evt_0"]
		require.Equal(t, event.ClassRejected, buried.Class)
		require.Equal(t, "workflow_id_taken", buried.Code)
		require.Equal(t, 1, buried.Attempts)
		require.Contains(t, buried.Message, `"stripe:evt_0"`)
		require.Contains(t, buried.Message, "OrderWorkflow")
	})
}

// Temporal accepts events, then refuses all of them because a search attribute is missing, and accepts them again after the
// fix; some events have waited for long already for another reason:
//   - none becomes a dead letter, and operators get a report
func TestAWrongSetupMakesNoDeadLetters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table, temporal, told := newFakeInbox(), newRefusing(), &toldErrors{}
		drain := NewDrain(table, temporal, nil, NewBreaker(32), 2*time.Second)
		drain.Errors = told
		go drain.Run()
		defer func() { require.NoError(t, drain.Stop(context.Background())) }()
		for n := range 20 {
			_, _ = table.Spool(t.Context(), event.LaneOverflow, waiting(n), nil, false)
			elapse(time.Second)
		}
		elapse(drainPoll)
		require.Zero(t, table.depth())
		temporal.atFault.Store(true)
		for n := 20; n < 40; n++ {
			_, _ = table.keep(event.Waiting{
				Lane: event.LaneOverflow, Receipt: waiting(n), Attempts: n - 20, LastError: "Temporal was away",
			})
		}
		elapse(10 * time.Minute)
		require.Equal(t, deadLetterAfter, told.count("start_refused"), "of those that had not waited for longer before")
		require.Empty(t, table.graves())
		require.Equal(t, 20, table.depth())
		temporal.atFault.Store(false)
		elapse(maxPostpone + drainPoll)
		require.Empty(t, table.graves())
		require.Zero(t, table.depth())
	})
}

// toldErrors counts entries by code.
type toldErrors struct {
	mu    sync.Mutex
	codes []string
}

func (e *toldErrors) Record(entry oversight.ErrorEntry) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if entry.Alert {
		e.codes = append(e.codes, entry.Code)
	}
}

func (e *toldErrors) count(code string) (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.codes {
		if c == code {
			n++
		}
	}
	return n
}

// An event larger than Temporal's message limit is itself at fault, whatever Temporal does.
func TestDrainMakesADeadLetterOfATooLargeEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table, temporal := newFakeInbox(), newFakeStarter()
		temporal.before = func(event.Receipt) error { return fmt.Errorf("start workflow: %w", runs.ErrTooLarge) }
		_, _ = table.Spool(t.Context(), event.LaneOverflow, waiting(0), nil, false)
		stop := runDrain(t, table, temporal, NewBreaker(32))
		defer stop()
		elapse(drainPoll)
		require.Len(t, table.graves(), 1)
	})
}

// The drain leaves capacity to live events and still makes progress.
func TestDrainYieldsToLiveEvents(t *testing.T) {
	t.Parallel()
	breaker := NewBreaker(8)
	require.Equal(t, 4, breaker.capacity(0))
	var permits []*permit
	for range 8 {
		p, _ := breaker.admit(t.Context(), time.Time{}, false)
		require.NotNil(t, p)
		permits = append(permits, p)
	}
	require.Equal(t, minInboxStarts, breaker.capacity(0))
	_, reason := breaker.admit(t.Context(), time.Time{}, false)
	require.Equal(t, busy, reason)
	for _, p := range permits {
		p.end(nil)
	}
	require.Equal(t, 4, breaker.capacity(0))
}

// The longer events wait, the more of them start alongside live ones, up to a quarter; never more while Temporal is down.
func TestDrainStartsMoreAsEventsAge(t *testing.T) {
	t.Parallel()
	breaker := NewBreaker(32)
	breaker.limit = 32
	var permits []*permit
	for range 32 {
		p, _ := breaker.admit(t.Context(), time.Time{}, false)
		require.NotNil(t, p)
		permits = append(permits, p)
	}
	for waited, want := range map[time.Duration]int{
		-time.Hour: minInboxStarts, 0: minInboxStarts, 3 * inboxStartGrowth: minInboxStarts + 3, time.Minute: 8, 1 << 62: 8,
	} {
		require.Equal(t, want, breaker.capacity(waited), waited)
	}
	permits[0].end(nil)
	followed := breaker.admitFromInbox()
	_, reason := breaker.admit(t.Context(), time.Time{}, false)
	require.Equal(t, busy, reason, "the share of the inbox is none of live events")
	followed.end(nil)
	_, reason = breaker.admit(t.Context(), time.Time{}, false)
	require.Equal(t, started, reason)
	for range tripAfter {
		breaker.admitFromInbox().end(errAway)
	}
	require.Zero(t, breaker.capacity(time.Hour))
}

// Live traffic always uses all of its starts: events in the inbox are started anyway.
func TestLiveEventsDoNotStarveTheInbox(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table, temporal, breaker := newFakeInbox(), newFakeStarter(), NewBreaker(12)
		for range 12 {
			p, _ := breaker.admit(t.Context(), time.Time{}, false)
			require.NotNil(t, p)
		}
		temporal.during = func(context.Context) { elapse(500 * time.Millisecond) }
		for n := range 100 {
			r := waiting(n)
			r.ReceivedAt = time.Now()
			_, err := table.Spool(t.Context(), event.LaneOverflow, r, nil, false)
			require.NoError(t, err)
		}
		stop := runDrain(t, table, temporal, breaker)
		defer stop()
		elapse(20 * time.Second) // one after the other they would take 50
		require.Zero(t, table.depth())
	})
}

// The drain leaves the bulk lane alone.
func TestDrainLeavesTheBulkLane(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := newFakeInbox()
		_, _ = table.Spool(t.Context(), event.LaneBulk, waiting(0), nil, false)
		stop := runDrain(t, table, newFakeStarter(), NewBreaker(1))
		defer stop()
		elapse(time.Minute)
		require.Equal(t, 1, table.depth())
	})
}

var errAway = errors.New("away")

// pages is an inbox whose overflow lane has so many full pages, followed by nothing or an error.
type pages struct {
	full  int
	err   error
	looks int
}

func (p *pages) DrainInbox(
	_ context.Context, lane event.Lane, limit int, _ func(context.Context, []event.Waiting) []event.StartOutcome,
) (int, error) {
	if lane != event.LaneOverflow {
		return 0, nil
	}
	if p.looks++; p.looks <= p.full {
		return limit, nil
	}
	return 0, p.err
}

// backlog is an inbox whose overflow lane is never empty. It counts the pages of each lane.
type backlog map[event.Lane]int

func (b backlog) DrainInbox(
	_ context.Context, lane event.Lane, limit int, _ func(context.Context, []event.Waiting) []event.StartOutcome,
) (int, error) {
	b[lane]++
	if lane != event.LaneOverflow {
		return 0, nil
	}
	elapse(time.Second)
	return limit, nil
}

// Large events start during a backlog of others, which may have arrived later. Copies, whose events Temporal has, wait for its end.
func TestLargeEventsStartDuringABacklog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lanes := backlog{}
		stop := runDrain(t, lanes, newFakeStarter(), NewBreaker(4))
		elapse(9*copiesPoll + time.Second/2)
		stop()
		require.Equal(t, 10, lanes[event.LaneLarge])
		require.Zero(t, lanes[event.LaneCopy])
	})
}

// The next poll comes immediately after a full page, after 2 s if the page is empty, and after half a second if it failed.
func TestTheDrainLooksSeldomAtAnEmptyInbox(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pages pages
		looks int
	}{
		"an empty inbox":             {pages{}, 5},
		"three full pages":           {pages{full: 3}, 3 + 5},
		"an inbox that doesn't work": {pages{err: errAway}, 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				queue := &c.pages
				stop := runDrain(t, queue, newFakeStarter(), NewBreaker(4))
				elapse(9900 * time.Millisecond)
				synctest.Wait()
				require.Equal(t, c.looks, queue.looks)
				stop()
			})
		})
	}
}
