package loadgen

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAConstantRate(t *testing.T) {
	s := newSchedule(Options{Rate: 250})
	require.Zero(t, s.due(0))
	require.Equal(t, 4*time.Millisecond, s.due(1))
	require.Equal(t, time.Hour, s.due(250*3600).Round(time.Microsecond))
	require.Zero(t, newSchedule(Options{}).due(1e6), "a closed loop has no schedule")
}

// From 100 to 300 a second over 10 s there are 2000 requests, and 300 a second from then on.
func TestARamp(t *testing.T) {
	for _, c := range []struct{ from, to float64 }{{100, 300}, {300, 100}, {200, 200.000001}} {
		s := newSchedule(Options{Rate: c.from, RateTo: c.to, Duration: 10 * time.Second})
		total := int64((c.from + c.to) * 5)
		require.InDelta(t, 10, s.due(total).Seconds(), 1e-6)
		require.InDelta(t, 1/c.from, s.due(1).Seconds(), 1e-4)
		require.InDelta(t, 1/c.to, (s.due(total+1000) - s.due(total+999)).Seconds(), 1e-6)
		before := time.Duration(-1)
		for i := range total + 100 {
			require.Greater(t, s.due(i), before)
			before = s.due(i)
		}
	}
}

// Each request is taken when it is due. An overdue one is taken immediately but keeps its due time: the wait for a target that
// stalls counts as latency.
func TestTheOpenLoopForgivesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		o := Options{Rate: 10, Duration: 2 * time.Second}
		g := &Generator{options: o, schedule: newSchedule(o), record: newRecord(start)}
		for want := range 5 {
			i, due, ok := g.take(t.Context())
			require.True(t, ok)
			require.Equal(t, int64(want), i)
			require.Equal(t, start.Add(time.Duration(want)*100*time.Millisecond), due)
			require.Equal(t, due, time.Now())
		}
		<-time.After(time.Second) // in virtual time: the target stalls
		stalled := time.Now()
		_, due, ok := g.take(t.Context())
		require.True(t, ok)
		require.Equal(t, start.Add(500*time.Millisecond), due)
		require.Equal(t, stalled, time.Now())
		for range 14 {
			_, _, ok = g.take(t.Context())
			require.True(t, ok)
		}
		_, _, ok = g.take(t.Context())
		require.False(t, ok, "twenty were due in two seconds")
	})
}

func TestAnswersBySecond(t *testing.T) {
	start := time.Now()
	r := newRecord(start)
	for i := range 100 {
		r.add(&answer{kind: "event", events: 1, status: 202, at: start, took: time.Duration(i+1) * time.Millisecond})
	}
	r.add(&answer{kind: "event", events: 2, status: 503, at: start.Add(2500 * time.Millisecond), took: time.Hour})
	r.add(&answer{kind: "event", events: 1, at: start.Add(2500 * time.Millisecond), took: time.Minute})
	result := r.result(Options{}, start.Add(4*time.Second))
	require.Len(t, result.Seconds, 3)
	require.InDelta(t, 50, result.Seconds[0].P50.Milliseconds(), 1)
	require.InDelta(t, 99, result.Seconds[0].P99.Milliseconds(), 1)
	require.Equal(t, Second{At: 1}, result.Seconds[1])
	require.Equal(t, []int64{2, 0}, []int64{result.Seconds[2].Requests, result.Seconds[2].OK})
	require.Equal(t, int64(1), result.NoAnswer)
	require.Equal(t, int64(103), result.Events)
	require.InDelta(t, 25, result.PerSecond, 0.01)
	require.InDelta(t, 120, result.Latency.Max.Seconds(), 0.2, "an hour is beyond the histogram")
	require.InDelta(t, 50, result.Latency.P50.Milliseconds(), 1.5)
	require.InDelta(t, 1, result.Latency.Distribution[len(result.Latency.Distribution)-1].Quantile, 1e-9)
}
