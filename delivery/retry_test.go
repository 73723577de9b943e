package delivery_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
)

func pauses(r delivery.Retry) (all []time.Duration) {
	p := delivery.Destination{Retry: r}.Policy()
	for n := 1; n < p.Attempts; n++ {
		all = append(all, time.Duration(p.Pause(n)))
	}
	return all
}

func sum(all []time.Duration) (total time.Duration) {
	for _, one := range all {
		total += one
	}
	return total
}

// A destination that declares nothing has the schedule of Standard Webhooks, which ends before it is disabled and before a
// delivery expires. One that declares a field of the older policy keeps it.
func TestRetryPolicies(t *testing.T) {
	t.Parallel()
	standard := pauses(delivery.Retry{})
	require.Len(t, standard, 9)
	require.Equal(t, []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute}, standard[:3])
	require.Less(t, sum(standard)*11/10, time.Duration(delivery.DefaultDisableAfter))
	require.Less(t, delivery.DefaultDisableAfter, delivery.DefaultKeep)

	dispatcher := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}
	none := 0.0
	require.Equal(t, dispatcher, pauses(delivery.Retry{Named: delivery.RetryDispatcher}))
	require.Equal(t, dispatcher, pauses(delivery.Retry{Jitter: &none}))
	require.Equal(t, dispatcher[:2], pauses(delivery.Retry{Attempts: 3}))

	two := []event.Duration{event.Duration(time.Second), event.Duration(time.Minute)}
	require.Equal(t, []time.Duration{time.Second, time.Minute}, pauses(delivery.Retry{Schedule: two}))
	require.Equal(t, []time.Duration{time.Second, time.Minute, time.Minute}, pauses(delivery.Retry{Schedule: two, Attempts: 4}))
	require.InDelta(t, 0.1, delivery.Destination{Retry: delivery.Retry{Schedule: two}}.Policy().Jitter, 1e-9)
}

func TestRetryIsChecked(t *testing.T) {
	t.Parallel()
	with := func(r delivery.Retry, keep time.Duration) error {
		return endpoint(func(d *delivery.Destination) { d.Retry, d.Keep = r, event.Duration(keep) }).Check()
	}
	hours := []event.Duration{event.Duration(time.Hour), event.Duration(2 * time.Hour)}
	require.NoError(t, with(delivery.Retry{Schedule: hours}, 0))
	require.NoError(t, with(delivery.Retry{Named: "dispatcher"}, 0))
	require.NoError(t, with(delivery.Retry{}, time.Hour), "what was declared before stays valid")
	require.ErrorContains(t, with(delivery.Retry{Named: "standard"}, 0), "retry.named")
	require.ErrorContains(t, with(delivery.Retry{Schedule: hours, Initial: 1}, 0), "retry.schedule can't be combined with named")
	require.ErrorContains(t, with(delivery.Retry{Schedule: hours}, 3*time.Hour), "takes longer than keep")
	require.ErrorContains(t, with(delivery.Retry{Schedule: []event.Duration{-1}}, 0), "retry.schedule[0] must be")
}

// An out-of-bounds value is an error of its field and is found immediately, even a number of attempts that would take forever to
// add up.
func TestBoundsOfARetrySchedule(t *testing.T) {
	t.Parallel()
	second := event.Duration(time.Second)
	check := func(r delivery.Retry) error {
		return endpoint(func(d *delivery.Destination) { d.Retry = r }).Check()
	}
	one, none, all := []event.Duration{second}, []event.Duration{0}, 1.0
	for _, fits := range []delivery.Retry{
		{Schedule: one},
		{Schedule: none},
		{Schedule: one, Attempts: 1},
		{Schedule: one, Attempts: 1000},
		{Schedule: one, Jitter: &all},
		{Schedule: slices.Repeat(one, 150)},
		{Schedule: slices.Repeat(one, 999)},
	} {
		require.NoError(t, check(fits))
	}
	for want, r := range map[string]delivery.Retry{
		"retry.attempts must be 0 to 1000":                                     {Schedule: one, Attempts: math.MaxInt},
		"retry.schedule is an empty list":                                      {Schedule: []event.Duration{}},
		"retry.schedule[1] must be 0s to 8760h0m0s":                            {Schedule: []event.Duration{second, -1, second}},
		"retry.schedule[0] must be 0s to 8760h0m0s":                            {Schedule: []event.Duration{math.MaxInt64}},
		"retry.schedule has 1000 pauses: at most 999 are allowed":              {Schedule: slices.Repeat(one, 1000)},
		"retry.jitter must be 0 to 1":                                          {Schedule: one, Jitter: new(1.5)},
		"retry.schedule takes longer than keep, 720h0m0s":                      {Schedule: []event.Duration{event.Duration(721 * time.Hour)}},
		"retry.schedule can't be combined with named, initial, coefficient or": {Schedule: one, Named: delivery.RetryDispatcher},
	} {
		require.ErrorContains(t, check(r), want)
	}
	require.NotContains(t, check(delivery.Retry{Schedule: []event.Duration{-1}}).Error(), "keep")
}
