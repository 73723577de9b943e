package delivery_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
)

// No rate of a destination is more than was asked for.
func TestRateOf(t *testing.T) {
	t.Parallel()
	rate := func(requests int, per time.Duration) *delivery.Rate {
		return &delivery.Rate{Requests: requests, Per: event.Duration(per)}
	}
	for perSecond, want := range map[float64]*delivery.Rate{
		0: nil, -1: nil, 0.0009: nil, 1e7: nil,
		1: rate(1, time.Second), 50: rate(50, time.Second), 1e6: rate(1_000_000, time.Second),
		2.5: rate(5, 2*time.Second), 0.3: rate(3, 10*time.Second), 0.1: rate(1, 10*time.Second),
		3.14159: rate(188, time.Minute), 999_999.99: rate(999_999, time.Second),
		0.001: rate(1, 1000*time.Second), 0.0012: rate(1, 833334*time.Millisecond),
	} {
		got := delivery.RateOf(perSecond)
		require.Equal(t, want, got, perSecond)
		if got != nil {
			require.LessOrEqual(t, float64(got.Requests)/time.Duration(got.Per).Seconds(), perSecond*(1+1e-9))
		}
	}
}

// Requests that start up to MaxLate after their time are never more in a span than the rate says.
func TestSpacing(t *testing.T) {
	t.Parallel()
	for _, r := range []delivery.Rate{
		{Requests: 10, Per: event.Duration(time.Second)}, {Requests: 7, Per: event.Duration(time.Minute)},
		{Requests: 1, Per: event.Duration(time.Hour)}, {Requests: 1_000_000, Per: event.Duration(time.Second)},
	} {
		next := time.Duration(r.Requests) * r.Spacing() // the one after a span's requests, the first of which is late
		require.GreaterOrEqual(t, next-delivery.MaxLate, time.Duration(r.Per), r)
	}
	require.Equal(t, 1100*time.Microsecond, delivery.Rate{Requests: 1, Per: event.Duration(time.Millisecond)}.Spacing())
}
