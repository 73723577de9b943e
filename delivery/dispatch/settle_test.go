package dispatch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
)

// The next state of a delivery, by the kind of its result and its earlier attempts.
func TestOutcomesOfADelivery(t *testing.T) {
	t.Parallel()
	now := time.Now()
	half := 0.5
	d := delivery.Destination{Retry: delivery.Retry{Attempts: 3, Initial: event.Duration(10 * time.Second), Jitter: &half}}
	for name, c := range map[string]struct {
		result      delivery.Result
		attempts    int
		dead        bool
		least, most time.Duration
	}{
		"taken":                       {result: delivery.Result{Kind: delivery.OK}},
		"the first failure":           {result: delivery.Result{Kind: delivery.Bad}, least: 5 * time.Second, most: 15 * time.Second},
		"the second":                  {result: delivery.Result{Kind: delivery.Bad}, attempts: 1, least: 10 * time.Second, most: 30 * time.Second},
		"the last":                    {result: delivery.Result{Kind: delivery.Bad}, attempts: 2, dead: true, least: 20 * time.Second, most: time.Minute},
		"it asks for patience":        {result: delivery.Result{Kind: delivery.Slow, RetryAfter: time.Hour}, least: time.Hour, most: time.Hour},
		"it asks for a week":          {result: delivery.Result{Kind: delivery.Slow, RetryAfter: 168 * time.Hour}, least: time.Hour, most: time.Hour},
		"it asks for a pause":         {result: delivery.Result{Kind: delivery.Busy, RetryAfter: time.Minute}, attempts: 9},
		"it asks for less":            {result: delivery.Result{Kind: delivery.Slow, RetryAfter: 1}, least: 5 * time.Second, most: 15 * time.Second},
		"for good":                    {result: delivery.Result{Kind: delivery.Final}, dead: true},
		"it wants nothing any more":   {result: delivery.Result{Kind: delivery.Gone}, attempts: 9},
		"our own fault":               {result: delivery.Result{Kind: delivery.Ours}, attempts: 9, least: 30 * time.Second, most: 90 * time.Second},
		"it is blocked":               {result: delivery.Result{Kind: delivery.Blocked}, attempts: 9, least: 30 * time.Second, most: 90 * time.Second},
		"something is missing":        {result: delivery.Result{Kind: delivery.Missing}, least: 5 * time.Second, most: 15 * time.Second},
		"it is missing at the end":    {result: delivery.Result{Kind: delivery.Missing}, attempts: 2, dead: true, least: 20 * time.Second, most: time.Minute},
		"a stop":                      {result: delivery.Result{Kind: delivery.Ours, Code: codeStopped}, attempts: 9},
		"the database was away":       {result: delivery.Result{Kind: delivery.Ours, Code: codeUnavailable}, least: 500 * time.Millisecond, most: 2 * time.Second},
		"it was away for long":        {result: delivery.Result{Kind: delivery.Ours, Code: codeUnavailable, Took: 5 * time.Second}, least: 10 * time.Second, most: 30 * time.Second},
		"it always takes too long":    {result: delivery.Result{Kind: delivery.Ours, Code: codeUnavailable, Took: time.Hour}, least: 30 * time.Second, most: 90 * time.Second},
		"its proxy can't be used":     {result: delivery.Result{Kind: delivery.Ours, Code: delivery.CodeProxy}, attempts: 9, least: 5 * time.Second, most: 15 * time.Second},
		"we are cut off for a moment": {result: delivery.Result{Kind: delivery.Ours, Code: codeOffline}, least: 5 * time.Second, most: 15 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := settle(d, delivery.Job{Attempts: c.attempts}, c.result, now)
			require.Equal(t, c.dead, s.Dead)
			require.GreaterOrEqual(t, s.DueAt.Sub(now), c.least)
			require.LessOrEqual(t, s.DueAt.Sub(now), c.most)
		})
	}
}

// A probe without a clear result, or that asks for a pause, doesn't change the schedule of its delivery: otherwise the next
// attempt would come early and use one up.
func TestAFailedProbeKeepsTheSchedule(t *testing.T) {
	t.Parallel()
	now := time.Now()
	probe := delivery.Job{Attempts: 3, WaitsUntil: now.Add(2 * time.Hour)}
	for _, result := range []delivery.Result{
		{Kind: delivery.Bad}, {Kind: delivery.Slow, RetryAfter: time.Minute}, {Kind: delivery.Busy, RetryAfter: time.Minute},
		{Kind: delivery.Ours}, {Kind: delivery.Ours, Code: codeStopped}, {Kind: delivery.Ours, Code: codeMemory},
		{Kind: delivery.Ours, Code: delivery.CodeLateStart},
	} {
		s := settle(delivery.Destination{}, probe, result, now)
		require.False(t, s.Dead, result)
		require.Equal(t, probe.WaitsUntil, s.DueAt, result)
	}
}
