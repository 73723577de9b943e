package persistence_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
)

func perHour(n int) *delivery.Rate {
	return &delivery.Rate{Requests: n, Per: event.Duration(time.Hour)}
}

// fails settles jobs as failed; they are due again after ten minutes, probes at their previous time.
func (d *database) fails(jobs []delivery.Job) []delivery.Transition {
	d.t.Helper()
	settled := each(jobs, delivery.Bad, "500")
	for i := range settled {
		if settled[i].DueAt = time.Now().Add(10 * time.Minute); !settled[i].WaitsUntil.IsZero() {
			settled[i].DueAt = settled[i].WaitsUntil
		}
	}
	return d.settle(settled...)
}

// edit changes a destination like the API.
func (d *database) edit(change func(*delivery.Destination)) {
	d.t.Helper()
	settings := delivery.Destination{Name: "d1", HTTP: &delivery.HTTP{URL: "https://crm.example.com"}}
	change(&settings)
	_, err := d.Subscriptions.ApplyDestination(d.t.Context(), settings, nil, admin)
	require.NoError(d.t, err)
}

// One destination combines everything: a rate, failures that open its breaker, a probe whose response asks for a pause, and
// deliveries pulled forward after its recovery. Nothing is attempted during a pause, everything keeps to the rate, and the queue
// ends empty.
func TestEveryLimitOfADestinationHoldsWithTheOthers(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.destination(1, delivery.Destination{Rate: perHour(60), Breaker: delivery.Breaker{Failures: 2, Probes: 1}})
	db.queue(1, 6)
	const minute = 67 * time.Second // between two start times
	one := func() []delivery.Job {
		t.Helper()
		jobs := db.lease(10, 10)
		require.Len(t, jobs, 1)
		require.Empty(t, db.lease(10, 10), "the rate allows one")
		return jobs
	}
	db.fails(one())
	db.passes(1, minute)
	db.fails(one())
	require.Equal(t, "open 1", db.breakerOf(1))
	require.NoError(t, db.Outbox.Rearm(t.Context()))
	db.Outbox.MadeDue(1)
	db.passes(1, 25*time.Second)
	require.Empty(t, db.lease(10, 10), "the breaker is open")
	db.passes(1, minute)

	busy := became(one()[0], delivery.Busy, "429")
	busy.RetryAfter = 5 * time.Minute
	db.settle(busy)
	require.Equal(t, "half_open 2", db.breakerOf(1))
	db.Outbox.MadeDue(1)
	require.NoError(t, db.Outbox.Rearm(t.Context()))
	db.passes(1, 4*time.Minute)
	require.Empty(t, db.lease(10, 10), "it has asked for a pause")
	db.passes(1, minute)

	db.settle(became(one()[0], delivery.OK, "200"))
	require.Equal(t, "closed 2", db.breakerOf(1))
	require.Equal(t, 5, value[int](db, `SELECT count(*) FROM delivery_queue WHERE due_at <= now()`))
	require.Equal(t, 2, value[int](db, `SELECT count(*) FROM delivery_queue WHERE pulled_forward`))
	for left := 5; left > 0; left-- {
		require.Empty(t, db.lease(10, 10), "recovered, it keeps to its rate")
		db.passes(1, minute)
		db.settle(became(one()[0], delivery.OK, "200"))
	}
	require.Zero(t, db.open(1))
}

// New limits apply from the next lease on: a start time that is a day away by the old rate doesn't count with the new one.
func TestAnEditedDestinationHasItsNewLimits(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.destination(1, delivery.Destination{})
	day := event.Duration(24 * time.Hour)
	db.edit(func(d *delivery.Destination) { d.Rate = &delivery.Rate{Requests: 1, Per: day} })
	db.queue(1, 20)
	require.Len(t, db.lease(10, 10), 1)
	require.Empty(t, db.lease(10, 10))
	db.edit(func(d *delivery.Destination) {
		d.InFlight, d.Rate = 3, &delivery.Rate{Requests: 10, Per: event.Duration(time.Second)}
	})
	require.Empty(t, db.lease(10, 10), "no start is closer to the one before than the new rate allows")
	db.passes(1, 6*time.Second)
	jobs := db.lease(10, 10)
	require.NotEmpty(t, jobs)
	db.edit(func(d *delivery.Destination) { d.InFlight = 3 })
	jobs = append(jobs, db.lease(10, 10)...)
	require.Len(t, jobs, 2, "one is under way since before: three in all")
	db.edit(func(d *delivery.Destination) { d.InFlight, d.Rate = 10, perHour(60) })
	require.Len(t, db.lease(10, 10), 1)
	db.edit(func(d *delivery.Destination) { d.InFlight = 10 })
	require.Len(t, db.lease(10, 10), 6)
}
