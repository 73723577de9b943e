package outbox

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
)

// How a batch changes a breaker, by how its attempts ended (+ ok, - bad, f final, o ours), with five failures to open it and
// three probes to close it.
func TestABatchOfOutcomesMovesABreaker(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	l := limits{failures: 5, probes: 3, open: 30 * time.Second}
	closed := func(failures int) breaker {
		return breaker{state: delivery.BreakerClosed, epoch: 7, failures: failures}
	}
	half := func(ok int) breaker {
		return breaker{state: delivery.BreakerHalfOpen, epoch: 7, failures: 5, probesOK: ok}
	}
	for name, c := range map[string]struct {
		was      breaker
		batch    string
		state    delivery.BreakerState
		epoch    int64
		failures int
		trouble  bool
	}{
		"all well":                           {closed(0), "+++", delivery.BreakerClosed, 7, 0, false},
		"one success forgives":               {closed(4), "+", delivery.BreakerClosed, 7, 0, false},
		"what is bad after it counts":        {closed(4), "--+--", delivery.BreakerClosed, 7, 2, true},
		"bad ones add up over batches":       {closed(3), "-", delivery.BreakerClosed, 7, 4, true},
		"the fifth opens":                    {closed(4), "-", delivery.BreakerOpen, 8, 5, true},
		"five at the end open":               {closed(0), "+-----", delivery.BreakerOpen, 8, 5, true},
		"a success at the end of many saves": {closed(0), "------+", delivery.BreakerClosed, 7, 0, false},
		"final says nothing":                 {closed(4), "fffff", delivery.BreakerClosed, 7, 4, false},
		"ours says nothing":                  {closed(4), "oooo", delivery.BreakerClosed, 7, 4, false},
		"blocked counts":                     {closed(4), "b", delivery.BreakerOpen, 8, 5, true},
		"missing says nothing":               {closed(4), "mmmm", delivery.BreakerClosed, 7, 4, false},
		"a probe that fails opens":           {half(2), "+-", delivery.BreakerOpen, 8, 1, true},
		"two probes are not enough":          {half(0), "++", delivery.BreakerHalfOpen, 7, 0, false},
		"three probes close":                 {half(2), "+", delivery.BreakerClosed, 7, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var counts tally
			for _, sign := range c.batch {
				kind := map[rune]delivery.Kind{'+': delivery.OK, '-': delivery.Bad, 'f': delivery.Final, 'o': delivery.Ours,
					'b': delivery.Blocked, 'm': delivery.Missing}[sign]
				counts.add(delivery.Outcome{Result: delivery.Result{Kind: kind, Code: "503", At: now}})
			}
			is := c.was.after(counts, l, now)
			require.Equal(t, c.state, is.state)
			require.Equal(t, c.epoch, is.epoch)
			require.Equal(t, c.failures, is.failures)
			require.Equal(t, c.trouble, is.failingSince != nil)
			require.Equal(t, c.state == delivery.BreakerOpen, is.openUntil != nil && is.openUntil.Equal(now.Add(30*time.Second)))
			if c.was.state == delivery.BreakerHalfOpen && c.state == delivery.BreakerClosed {
				require.NotNil(t, is.closedAt)
			}
		})
	}
}

// After a breaker has closed, as many attempts are allowed as there were probes, twice as many a second later, and so on.
func TestAClosedBreakerStartsSlowly(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for after, allowed := range map[time.Duration]int{
		0: 3, time.Second: 6, 2 * time.Second: 12, 3 * time.Second: 16, time.Minute: 16, -time.Hour: 16,
	} {
		closedAt := now.Add(-after)
		d := dueDestination{breaker: delivery.BreakerClosed, closedAt: &closedAt, limits: limits{inFlight: 16, probes: 3}}
		require.Equal(t, allowed, d.allowed(now), after)
	}
	require.Equal(t, 16, dueDestination{breaker: delivery.BreakerClosed, limits: limits{inFlight: 16, probes: 3}}.allowed(now))
}

func TestLimitsHaveDefaults(t *testing.T) {
	t.Parallel()
	for _, settings := range []string{`{}`, `no JSON`, `{"in_flight":0,"rate":{"requests":0,"per":"1s"}}`} {
		l := limitsOf(3, "crm", []byte(settings))
		require.Equal(t, limits{
			version: 3, name: "crm", inFlight: 16, failures: 5, probes: 3, open: 30 * time.Second, timeout: 15 * time.Second,
		}, l)
	}
	l := limitsOf(3, "crm", []byte(`{"rate":{"requests":50,"per":"1s"}}`))
	require.Equal(t, 22*time.Millisecond, l.spacing)
}

// At 10 per second, starts are 110 ms apart, so that a start that is 100 ms late makes no eleventh.
func TestARateGivesEachAttemptAStartTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	limit := limits{spacing: (delivery.Rate{Requests: 10, Per: event.Duration(time.Second)}).Spacing()}
	at := func(pause time.Duration) dueDestination {
		start := now.Add(pause)
		return dueDestination{id: 1, limits: limit, startAt: &start}
	}
	require.Equal(t, 1, at(-time.Hour).maxStarts(now), "what was not used is gone")
	require.Equal(t, 1, at(100*time.Millisecond).maxStarts(now))
	require.Equal(t, 0, at(101*time.Millisecond).maxStarts(now))
	require.Equal(t, unboundedStarts, dueDestination{}.maxStarts(now))

	early := at(160 * time.Millisecond)
	early.lead = 100 * time.Millisecond
	require.Equal(t, 1, early.maxStarts(now))

	var far lead
	missed := []delivery.Outcome{{Result: delivery.Result{Code: delivery.CodeLateStart}}}
	for range 10 {
		far.learn(missed)
	}
	require.Equal(t, 50*time.Millisecond, far.get(), "what one stall has delayed says one thing, in however many batches")
	missed[0].Lead = far.get()
	far.learn(missed)
	require.Equal(t, 150*time.Millisecond, far.get(), "until none is missed")
	far.learn([]delivery.Outcome{{Job: delivery.Job{StartAt: now}}})
	require.Equal(t, 150*time.Millisecond-150*time.Millisecond/64, far.get())

	l := leaseRound{at: now, began: now, answered: now.Add(5 * time.Millisecond), due: []dueDestination{at(40 * time.Millisecond)}}
	jobs := []delivery.Job{{DestinationID: 1}, {DestinationID: 1}}
	l.schedule(jobs)
	require.Equal(t, now.Add(45*time.Millisecond), jobs[0].StartAt)
	require.Equal(t, now.Add(140*time.Millisecond), jobs[0].StartBy)
	require.Equal(t, now.Add(155*time.Millisecond), jobs[1].StartAt)
}

// No start is further ahead than a lease may set it, whatever the lead of the process: a later one is left from an earlier,
// slower rate. Without a rate, or before the first attempt, the next may start immediately. A fast rate lets several attempts be
// leased together.
func TestAStartIsBounded(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	far := now.Add(time.Hour)
	limit := limits{spacing: 10 * time.Millisecond}
	for _, lead := range []time.Duration{0, 60 * time.Millisecond} {
		d := dueDestination{limits: limit, startAt: &far, lead: lead}
		require.Equal(t, now.Add(maxLead+ahead+limit.spacing), d.nextStart(now.Add(lead)))
		require.Zero(t, d.maxStarts(now))
	}
	require.Equal(t, now, dueDestination{limits: limit}.nextStart(now), "the first attempt")
	require.Equal(t, now, dueDestination{startAt: &far}.nextStart(now), "no rate")
	near := now.Add(50 * time.Millisecond)
	require.Equal(t, near, dueDestination{limits: limit, startAt: &near}.nextStart(now))
	require.Equal(t, 6, dueDestination{limits: limit, startAt: &near}.maxStarts(now))
	require.Equal(t, 11, dueDestination{limits: limit}.maxStarts(now))
}

// A destination that asks for a pause gets it: as long as it says, at most an hour; otherwise 5 s, which double each time, up to
// 5 minutes. Simultaneous responses extend it once, and never shorten it. The first success after it ends it.
func TestAReceiverIsPausedAsItAsks(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) *time.Time { until := now.Add(d); return &until }
	busy := func(after ...time.Duration) (counts tally) {
		for _, d := range after {
			counts.add(delivery.Outcome{Result: delivery.Result{Kind: delivery.Busy, RetryAfter: d}})
		}
		return counts
	}
	var ok tally
	ok.add(delivery.Outcome{Result: delivery.Result{Kind: delivery.OK}})
	for name, c := range map[string]struct {
		resumeAt *time.Time
		answers  int
		reported tally
		want     *time.Time
		wantsBy  int
		closes   bool
	}{
		"the first":                   {nil, 0, busy(0, 0, 0), at(5 * time.Second), 1, false},
		"the third":                   {at(-1), 2, busy(0), at(20 * time.Second), 3, false},
		"the hundredth":               {at(0), 99, busy(0), at(5 * time.Minute), 100, false},
		"as it says":                  {nil, 3, busy(time.Second, time.Minute), at(time.Minute), 4, false},
		"longer than allowed":         {nil, 0, busy(1000 * time.Hour), at(delivery.MaxRetryAfter), 1, false},
		"while paused, for longer":    {at(time.Minute), 1, busy(time.Hour), at(time.Hour), 1, false},
		"while paused, for less":      {at(time.Minute), 1, busy(time.Second), at(time.Minute), 1, false},
		"a success while paused":      {at(time.Minute), 1, ok, at(time.Minute), 1, false},
		"a success after it":          {at(0), 3, ok, nil, 0, true},
		"a success that knew no busy": {nil, 0, ok, nil, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			was := breaker{state: delivery.BreakerClosed, resumeAt: c.resumeAt, busyAnswers: c.answers}
			is := was.after(c.reported, limits{failures: 5, probes: 3}, now)
			require.Equal(t, c.want, is.resumeAt)
			require.Equal(t, c.wantsBy, is.busyAnswers)
			require.Equal(t, c.closes, is.closedAt != nil)
		})
	}
}

// A destination has been failing since the end of its first failed attempt, for the reason of the last. It isn't probed before
// the time that it has named.
func TestTroubleBeginsWithTheFirstFailure(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	var counts tally
	for i, r := range []delivery.Result{
		{Kind: delivery.Bad, Code: "500", RetryAfter: 1000 * time.Hour}, {Kind: delivery.OK},
		{Kind: delivery.Bad, Code: "500", RetryAfter: time.Minute}, {Kind: delivery.Slow, Code: "timeout", Error: "no answer"},
	} {
		r.At, r.Took = now.Add(time.Duration(i)*time.Second), time.Second
		counts.add(delivery.Outcome{Result: r})
	}
	is := breaker{state: delivery.BreakerClosed}.after(counts, limits{failures: 5, probes: 3}, now)
	require.Equal(t, now.Add(3*time.Second), *is.failingSince)
	require.Equal(t, "timeout: no answer", is.failure)
	require.Equal(t, now.Add(time.Minute), *is.probeAfter)
	require.True(t, is.needsProbe)
	again := is.after(counts, limits{failures: 50, probes: 3}, now.Add(time.Hour))
	require.Equal(t, now.Add(3*time.Second), *again.failingSince, "a success within has ended it")
	var bad tally
	bad.add(delivery.Outcome{Result: delivery.Result{Kind: delivery.Bad, Error: "reset", At: now.Add(time.Hour)}})
	again = is.after(bad, limits{failures: 50, probes: 3}, now.Add(time.Hour))
	require.Equal(t, is.failingSince, again.failingSince, "it goes on")
	require.Equal(t, "error: reset", again.failure)
}
