package outbox_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/persistence/persistencetest"
)

func perHour(n int) *delivery.Rate {
	return &delivery.Rate{Requests: n, Per: event.Duration(time.Hour)}
}

// fails settles jobs as failed; they are due again after ten minutes, probes at their previous time.
func fails(d *persistencetest.Database, jobs []delivery.Job) []delivery.Transition {
	d.T.Helper()
	settled := persistencetest.Each(jobs, delivery.Bad, "500")
	for i := range settled {
		if settled[i].DueAt = time.Now().Add(10 * time.Minute); !settled[i].WaitsUntil.IsZero() {
			settled[i].DueAt = settled[i].WaitsUntil
		}
	}
	return d.Settle(settled...)
}

// edit changes a destination like the API.
func edit(d *persistencetest.Database, change func(*delivery.Destination)) {
	d.T.Helper()
	settings := delivery.Destination{Name: "d1", HTTP: &delivery.HTTP{URL: "https://crm.example.com"}}
	change(&settings)
	_, err := d.Subscriptions.ApplyDestination(d.T.Context(), settings, nil, persistencetest.Admin)
	require.NoError(d.T, err)
}

// One destination combines everything: a rate, failures that open its breaker, a probe whose response asks for a pause, and
// deliveries pulled forward after its recovery. Nothing is attempted during a pause, everything keeps to the rate, and the queue
// ends empty.
func TestEveryLimitOfADestinationHoldsWithTheOthers(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	db.Destination(1, delivery.Destination{Rate: perHour(60), Breaker: delivery.Breaker{Failures: 2, Probes: 1}})
	db.Queue(1, 6)
	const minute = 67 * time.Second // between two start times
	one := func() []delivery.Job {
		t.Helper()
		jobs := db.Lease(10, 10)
		require.Len(t, jobs, 1)
		require.Empty(t, db.Lease(10, 10), "the rate allows one")
		return jobs
	}
	fails(db, one())
	db.Passes(1, minute)
	fails(db, one())
	require.Equal(t, "open 1", db.BreakerOf(1))
	require.NoError(t, db.Outbox.Rearm(t.Context()))
	db.Outbox.MadeDue(1)
	db.Passes(1, 25*time.Second)
	require.Empty(t, db.Lease(10, 10), "the breaker is open")
	db.Passes(1, minute)

	busy := persistencetest.Became(one()[0], delivery.Busy, "429")
	busy.RetryAfter = 5 * time.Minute
	db.Settle(busy)
	require.Equal(t, "half_open 2", db.BreakerOf(1))
	db.Outbox.MadeDue(1)
	require.NoError(t, db.Outbox.Rearm(t.Context()))
	db.Passes(1, 4*time.Minute)
	require.Empty(t, db.Lease(10, 10), "it has asked for a pause")
	db.Passes(1, minute)

	db.Settle(persistencetest.Became(one()[0], delivery.OK, "200"))
	require.Equal(t, "closed 2", db.BreakerOf(1))
	require.Equal(t, 5, persistencetest.Value[int](db, `SELECT count(*) FROM delivery_queue WHERE due_at <= now()`))
	require.Equal(t, 2, persistencetest.Value[int](db, `SELECT count(*) FROM delivery_queue WHERE pulled_forward`))
	for left := 5; left > 0; left-- {
		require.Empty(t, db.Lease(10, 10), "recovered, it keeps to its rate")
		db.Passes(1, minute)
		db.Settle(persistencetest.Became(one()[0], delivery.OK, "200"))
	}
	require.Zero(t, db.Waiting(1))
}

// New limits apply from the next lease on: a start time that is a day away by the old rate doesn't count with the new one.
func TestAnEditedDestinationHasItsNewLimits(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	db.Destination(1, delivery.Destination{})
	day := event.Duration(24 * time.Hour)
	edit(db, func(d *delivery.Destination) { d.Rate = &delivery.Rate{Requests: 1, Per: day} })
	db.Queue(1, 20)
	require.Len(t, db.Lease(10, 10), 1)
	require.Empty(t, db.Lease(10, 10))
	edit(db, func(d *delivery.Destination) {
		d.InFlight, d.Rate = 3, &delivery.Rate{Requests: 10, Per: event.Duration(time.Second)}
	})
	require.Empty(t, db.Lease(10, 10), "no start is closer to the one before than the new rate allows")
	db.Passes(1, 6*time.Second)
	jobs := db.Lease(10, 10)
	require.NotEmpty(t, jobs)
	edit(db, func(d *delivery.Destination) { d.InFlight = 3 })
	jobs = append(jobs, db.Lease(10, 10)...)
	require.Len(t, jobs, 2, "one is under way since before: three in all")
	edit(db, func(d *delivery.Destination) { d.InFlight, d.Rate = 10, perHour(60) })
	require.Len(t, db.Lease(10, 10), 1)
	edit(db, func(d *delivery.Destination) { d.InFlight = 10 })
	require.Len(t, db.Lease(10, 10), 6)
}
