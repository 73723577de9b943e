package peers

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/ledger"
)

var noon = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// Only what was acknowledged counts, from the moment of the ACK.
func TestAnOutcomeCountsAcknowledgedEvents(t *testing.T) {
	t.Parallel()
	s := newSent()
	for i, id := range []string{"evt_once", "evt_twice", "evt_lost", "evt_refused"} {
		require.NoError(t, s.Sending(int64(i), noon, "", []ledger.Event{{Key: id}}))
	}
	for i, status := range []int{200, 202, 201, 503} {
		require.NoError(t, s.Answered(int64(i), status, 10*time.Millisecond))
	}
	a := &arrivals{seen: map[string]arrival{}}
	a.record("evt_once", noon.Add(15*time.Millisecond))
	a.record("evt_twice", noon.Add(40*time.Millisecond))
	a.record("evt_twice", noon.Add(50*time.Millisecond))
	a.record("evt_refused", noon.Add(60*time.Millisecond))

	o := a.compare(s)
	require.Equal(t, 3, o.Acknowledged)
	require.Equal(t, 2, o.Delivered)
	require.Equal(t, 1, o.Lost)
	require.Equal(t, 1, o.Doubled)
	require.Equal(t, 5*time.Millisecond, o.quantile(0))
	require.Equal(t, 30*time.Millisecond, o.quantile(0.99))
	total, events, last := a.count()
	require.EqualValues(t, 4, total)
	require.EqualValues(t, 3, events)
	require.Equal(t, noon.Add(60*time.Millisecond), last)
}

func TestNothingHasNoQuantile(t *testing.T) {
	t.Parallel()
	require.Zero(t, outcome{}.quantile(0.5))
}

// What the system uses anyway in the settle time isn't charged to the load.
func TestTheCostOfAnEventLeavesOutTheIdleSystem(t *testing.T) {
	t.Parallel()
	c := charged{used: time.Second, n: 100}
	require.InDelta(t, 10, c.each(0), 1e-9)
	require.InDelta(t, (1000-settle.Seconds()*1000*3/60)/100, c.each(3), 1e-9)
	require.Zero(t, c.each(1000))
}
