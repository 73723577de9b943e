package persistence_test

import (
	"context"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/retention"
	"holdfast/internal/ledger"
	"holdfast/internal/ledger/check"
	"holdfast/persistence"
	"holdfast/persistence/persistencetest"
)

// A destination goes down under load, is not tried, is probed, and comes back slowly.
func TestABreakerOpensIsProbedAndCloses(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.destination(1, delivery.Destination{})
	db.queue(1, 100)
	jobs := db.lease(100, 100)
	require.Len(t, jobs, 16)
	turns := db.settle(each(jobs[:5], delivery.Bad, "connection")...)
	require.Equal(t, []delivery.Transition{
		{DestinationID: 1, Destination: "d1", From: delivery.BreakerClosed, To: delivery.BreakerOpen},
	}, turns)
	require.Equal(t, "open 1", db.breakerOf(1))
	require.Empty(t, db.lease(100, 100))
	of, err := db.Outbox.DeliveriesOf(t.Context(), jobs[0].EventID)
	require.NoError(t, err)
	require.Equal(t, "breaker", of[0].Waits)

	require.Empty(t, db.settle(each(jobs[5:], delivery.Bad, "connection")...), "what was under way opens it no second time")
	require.Equal(t, "open 1", db.breakerOf(1))

	db.passes(1, 30*time.Second)
	probes := db.lease(100, 100)
	require.Len(t, probes, 3)
	require.Equal(t, "half_open 2", db.breakerOf(1))
	require.Empty(t, db.lease(100, 100))
	turns = db.settle(each(probes[:1], delivery.Slow, "503")...)
	require.Equal(t, delivery.BreakerOpen, turns[0].To)
	require.Equal(t, "open 3", db.breakerOf(1))
	require.Empty(t, db.settle(each(probes[1:], delivery.OK, "200")...), "of another epoch")
	require.Equal(t, "open 3", db.breakerOf(1))

	db.passes(1, 30*time.Second)
	probes = db.lease(100, 100)
	require.Len(t, probes, 3)
	require.Empty(t, db.settle(each(probes[:2], delivery.OK, "200")...))
	require.Equal(t, "half_open 4", db.breakerOf(1))
	turns = db.settle(each(probes[2:], delivery.OK, "200")...)
	require.Equal(t, delivery.BreakerClosed, turns[0].To)
	slow := db.lease(100, 100)
	require.GreaterOrEqual(t, len(slow), 3)
	require.True(t, value[bool](db, `SELECT failing_since IS NULL AND failures = 0 FROM destination_states`))
	db.settle(each(slow, delivery.OK, "200")...)
	db.passes(1, time.Minute)
	require.Len(t, db.lease(100, 100), 16)
}

// An operator knows that the destination is healthy again: after a resume it isn't blocked by the breaker, paused or not.
func TestAResumeProbesAnOpenBreakerAtOnce(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.destination(1, delivery.Destination{})
	db.queue(1, 100)
	for _, state := range []delivery.DestinationState{delivery.DestinationPaused, delivery.DestinationReady} {
		db.settle(each(db.lease(100, 100)[:5], delivery.Bad, "503")...)
		require.Contains(t, db.breakerOf(1), "open ")
		_, err := db.Subscriptions.SetDestinationState(t.Context(), "d1", state, ada)
		require.NoError(t, err)
		c, err := db.Subscriptions.SetDestinationState(t.Context(), "d1", delivery.DestinationReady, ada)
		require.NoError(t, err)
		require.Equal(t, delivery.BreakerOpen, c.Breaker)
		probes := db.lease(100, 100)
		require.Len(t, probes, 3)
		db.settle(each(probes, delivery.OK, "200")...)
		require.Contains(t, db.breakerOf(1), "closed ")
		db.passes(1, time.Minute)
	}
}

// An open breaker without due deliveries stays open, and is probed by later ones.
func TestAnOpenBreakerWaitsForSomethingToProbeWith(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.destination(1, delivery.Destination{})
	db.queue(1, 5)
	dead := each(db.lease(10, 10), delivery.Bad, "503")
	for i := range dead {
		dead[i].Dead = true
	}
	db.settle(dead...)
	db.passes(1, time.Hour)
	require.Empty(t, db.lease(10, 10))
	require.Equal(t, "open 1", db.breakerOf(1))
	db.queue(1, 1)
	require.Len(t, db.lease(10, 10), 1)
	require.Equal(t, "half_open 2", db.breakerOf(1))
}

// A destination that can't be used as configured stops with its reason, is probed, and goes on once that is corrected. Meanwhile no
// delivery uses up an attempt, and each failure can be seen.
func TestABlockedDestinationStopsWithAReason(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.destination(1, delivery.Destination{})
	ids := db.queue(1, 6)
	blocked := each(db.lease(10, 10), delivery.Blocked, "tls_files")
	for i := range blocked {
		blocked[i].Error, blocked[i].DueAt = "http.certificate and http.key don't belong together", time.Now().Add(time.Minute)
	}
	db.settle(blocked...)
	require.Equal(t, "open 1", db.breakerOf(1))
	require.Zero(t, value[int](db, `SELECT sum(attempts) FROM delivery_queue`))
	c, err := db.Subscriptions.Condition(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, "tls_files: http.certificate and http.key don't belong together", c.Failure)
	require.Equal(t, delivery.HealthFailing, c.Health())
	stats, err := db.Outbox.DeliveryStats(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"d1"}, stats.Failing)
	require.Equal(t, []string{c.Failure}, stats.FailingReasons)
	attempts, err := db.Outbox.AttemptsOf(t.Context(), ids[0])
	require.NoError(t, err)
	require.Len(t, attempts, 1)
	require.Contains(t, attempts[0].Error, "don't belong together")

	db.passes(1, time.Hour)
	for len(ids) > 0 {
		jobs := db.lease(10, 10)
		require.NotEmpty(t, jobs)
		db.settle(each(jobs, delivery.OK, "200")...)
		ids = ids[len(jobs):]
		db.passes(1, time.Hour)
	}
	require.Equal(t, "closed 2", db.breakerOf(1))
}

// Signals to workflows that don't run yet say nothing about the other events of the destination.
func TestAMissingWorkflowOpensNoBreaker(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.destination(1, delivery.Destination{})
	db.queue(1, 10)
	db.settle(each(db.lease(10, 10), delivery.Missing, "workflow_not_found")...)
	require.Equal(t, "closed 0", db.breakerOf(1))
	require.Equal(t, 10, value[int](db, `SELECT sum(attempts) FROM delivery_queue`))
	c, err := db.Subscriptions.Condition(t.Context(), 1)
	require.NoError(t, err)
	require.Nil(t, c.FailingSince)
}

// A busy destination gets nothing until the time that it has named; that uses up no attempt and opens no breaker. Then one
// attempt is sent, and after its success some more.
func TestABusyDestinationIsPausedAsAWhole(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.destination(1, delivery.Destination{})
	ids := db.queue(1, 20)
	busy := each(db.lease(10, 10), delivery.Busy, "429")
	require.Len(t, busy, 10)
	for i := range busy {
		busy[i].RetryAfter = 20 * time.Second
	}
	require.Empty(t, db.settle(busy[:9]...))
	require.Empty(t, db.settle(became(busy[9].Job, delivery.Bad, "500")), "what was under way does not end the pause")
	db.Outbox.MadeDue(1)
	require.NoError(t, db.Outbox.Rearm(t.Context()))
	require.Empty(t, db.lease(10, 10))
	of, err := db.Outbox.DeliveriesOf(t.Context(), ids[0])
	require.NoError(t, err)
	require.Equal(t, "busy", of[0].Waits)
	c, err := db.Subscriptions.Condition(t.Context(), 1)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(20*time.Second), *c.ResumeAt, 5*time.Second)
	db.passes(1, 10*time.Second)
	require.Empty(t, db.lease(10, 10))
	db.passes(1, 11*time.Second)
	require.Equal(t, "closed 0", db.breakerOf(1))
	jobs := db.lease(10, 10)
	require.Len(t, jobs, 1)
	require.Zero(t, jobs[0].Attempts)
	require.Equal(t, 1, value[int](db, `SELECT sum(attempts) FROM delivery_queue`))
	db.settle(each(jobs, delivery.OK, "200")...)
	require.Len(t, db.lease(10, 10), 3)
}

// Without a named time the pause doubles with each response, and starts again after a success. An operator ends it.
func TestThePauseOfABusyDestinationGrows(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.destination(1, delivery.Destination{})
	db.queue(1, 3)
	pause := func() float64 {
		return value[float64](db, `SELECT extract(epoch FROM resume_at - now())::float8 FROM destination_states`)
	}
	for _, seconds := range []float64{5, 10, 20, 40, 80, 160, 300, 300} {
		db.settle(each(db.lease(10, 10), delivery.Busy, "429")...)
		require.InDelta(t, seconds, pause(), 3)
		_, err := db.Subscriptions.ProbeDestination(t.Context(), "d1", ada)
		require.NoError(t, err)
	}
	db.settle(each(db.lease(10, 10), delivery.OK, "200")...)
	db.settle(each(db.lease(10, 10), delivery.Busy, "429")...)
	require.InDelta(t, 5, pause(), 3)
}

func TestARateIsKeptByTheDatabasesClock(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.destination(1, delivery.Destination{Rate: &delivery.Rate{Requests: 4, Per: event.Duration(time.Hour)}})
	db.queue(1, 20)
	require.Len(t, db.lease(3, 3), 1)
	require.Empty(t, db.lease(3, 3))
	db.Outbox.MadeDue(1) // a new delivery doesn't change the start time
	require.Empty(t, db.lease(3, 3))
	require.Equal(t, "rate", value[string](db, `SELECT held FROM destination_states`))
	db.passes(1, 16*time.Minute)
	require.Len(t, db.lease(10, 10), 1)
	db.passes(1, 24*time.Hour)
	require.Len(t, db.lease(10, 10), 1, "what was not used is gone")
	require.Empty(t, db.lease(10, 10))
}

// Two processes share a destination with a rate of ten a second. One is far from the database and leases long before the start
// times: the other one loses no start times because of it. The database's clock is the test's, so that a slow machine loses none.
func TestAFarProcessDoesNotSlowANearOne(t *testing.T) {
	t.Parallel()
	near, passes := openWithClock(t)
	far := near.another()
	rate := &delivery.Rate{Requests: 10, Per: event.Duration(time.Second)}
	near.destination(1, delivery.Destination{InFlight: 1000, Rate: rate})
	near.queue(1, 100)
	for _, lead := range []int{0, 50, 150, 350, 750} {
		far.settle(delivery.Outcome{
			Job: delivery.Job{
				Key:           delivery.Key{EventID: receipt().ID, SubscriptionID: 1},
				DestinationID: 1, Lease: receipt().ID, Lead: time.Duration(lead) * time.Millisecond,
			},
			Result: delivery.Result{Kind: delivery.Ours, Code: delivery.CodeLateStart, At: time.Now()},
		})
	}
	next := func() time.Time { return value[time.Time](near, `SELECT tokens_at FROM destination_states`) }
	spacing := rate.Spacing()
	byFar, byNear := len(far.lease(10, 10)), 0
	began := next().Add(-time.Duration(byFar) * spacing)
	for n := range 200 {
		passes(spacing / 4)
		if n%2 == 0 {
			byNear += len(near.lease(10, 10))
		}
		byFar += len(far.lease(10, 10))
		if n%2 == 1 {
			byNear += len(near.lease(10, 10))
		}
	}
	require.Greater(t, byNear, 15)
	require.Greater(t, byFar, 15)
	require.Equal(t, began.Add(time.Duration(byNear+byFar)*spacing), next(), "each start time is used")
}

// openWithClock opens a database whose clock stands still, and is advanced by passes.
func openWithClock(t *testing.T) (db *database, passes func(time.Duration)) {
	t.Helper()
	url := persistencetest.Cluster.Database(t)
	db = openURL(t, url+"&options=-csearch_path%3Dclock,pg_catalog,public")
	db.exec(`CREATE SCHEMA clock`)
	db.exec(`CREATE TABLE clock.clock AS SELECT pg_catalog.now() + interval '1 minute' AS at`)
	for _, name := range []string{"now", "statement_timestamp", "clock_timestamp"} {
		db.exec(`CREATE FUNCTION clock.` + name + `() RETURNS timestamptz STABLE LANGUAGE sql AS 'SELECT at FROM clock.clock'`)
	}
	return db, func(span time.Duration) { db.exec(`UPDATE clock.clock SET at = at + $1::interval`, span) }
}

// A process dies between its commit and the wake; another one between the lease and the outcome.
func TestLeftoversOfADeadProcessAreFound(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.destination(1, delivery.Destination{})
	require.Empty(t, db.lease(10, 10)) // nothing is left to lease
	db.queue(1, 2)
	other, err := persistence.Open(t.Context(), db.cfg)
	require.NoError(t, err)
	defer other.Close()
	lease := func() []delivery.Job {
		jobs, _, err := other.Outbox.Lease(t.Context(), delivery.LeaseRequest{Limit: 10})
		require.NoError(t, err)
		return jobs
	}
	require.Empty(t, lease(), "no dispatcher was woken")
	require.NoError(t, other.Outbox.Rearm(t.Context()))
	require.Len(t, lease(), 2)
	require.NoError(t, other.Outbox.Rearm(t.Context()))
	require.Empty(t, lease())
	db.passes(1, time.Hour)
	again := lease()
	require.Len(t, again, 2, "the leases have ended by themselves")
	require.Equal(t, 1, again[0].Tries)

	db.exec(`DELETE FROM destination_states`) // of a destination without a row
	db.passes(1, time.Hour)
	require.Empty(t, lease())
	require.NoError(t, other.Outbox.Rearm(t.Context()))
	require.Len(t, lease(), 2)
}

// openCut opens a store; lose makes leases that are committed without a response.
func openCut(t *testing.T) (db *database, lose func()) {
	tap := &wiretap{}
	db = open(t, func(c *persistence.Config) {
		tap.server = c.URL
		c.URL = tap.listen(t)
	})
	return db, func() {
		tap.cuts.Store(true)
		defer tap.cuts.Store(false)
		_, _, err := db.Outbox.Lease(t.Context(), delivery.LeaseRequest{Limit: 10})
		require.Error(t, err)
	}
}

func (d *database) leased() int {
	return value[int](d, `SELECT count(*) FROM delivery_queue WHERE lease IS NOT NULL`)
}

// A lease is committed, and its connection breaks before the response: no process has these deliveries, so they must not block
// the destination until their leases end. Those that another process has leased stay leased.
func TestALeaseWhoseAnswerIsLostIsGivenBack(t *testing.T) {
	t.Parallel()
	db, lose := openCut(t)
	db.destination(1, delivery.Destination{InFlight: 4})
	db.queue(1, 6)
	first := db.lease(1, 10)
	require.Len(t, first, 1)
	lose()
	require.Equal(t, 4, db.leased())

	db.exec(`BEGIN`)
	db.exec(`SELECT FROM destination_states FOR UPDATE`) // as the transaction itself holds it while it continues
	require.Empty(t, db.lease(10, 10))
	db.exec(`COMMIT`)
	jobs := db.lease(10, 10)
	require.Len(t, jobs, 3)
	for _, j := range jobs {
		require.Zero(t, j.Tries, "it was not attempted")
	}
	require.Equal(t, 4, db.leased())
	db.settle(each(append(jobs, first...), delivery.OK, "200")...)
	require.Len(t, db.lease(10, 10), 2)
}

// One of these deliveries is locked: the others are given back, other destinations are served, and it follows.
func TestReturnedStartsWaitForNothing(t *testing.T) {
	t.Parallel()
	db, lose := openCut(t)
	db.destination(1, delivery.Destination{InFlight: 4})
	db.destination(2, delivery.Destination{})
	db.queue(1, 4)
	lose()
	db.queue(2, 2)
	db.exec(`BEGIN`)
	db.exec(`SELECT FROM delivery_queue WHERE lease IS NOT NULL LIMIT 1 FOR UPDATE`)
	require.Len(t, db.lease(10, 10), 5)
	db.exec(`COMMIT`)
	require.Len(t, db.lease(10, 10), 1)
}

// The database is unavailable when the leases should be given back; later they would have ended anyway.
func TestUnreturnedRatesAreKept(t *testing.T) {
	t.Parallel()
	db, lose := openCut(t)
	db.destination(1, delivery.Destination{})
	db.queue(1, 2)
	lose()
	lose() // the response to the give-back is lost as well
	require.Len(t, db.lease(10, 10), 2)
}

// The start time of a lost lease passes without an attempt. The delivery gets the next one.
func TestReturnedStartsKeepTheRate(t *testing.T) {
	t.Parallel()
	db, lose := openCut(t)
	db.destination(1, delivery.Destination{Rate: &delivery.Rate{Requests: 4, Per: event.Duration(time.Hour)}})
	ids := db.queue(1, 1)
	lose()
	require.Empty(t, db.lease(10, 10))
	db.passes(1, 16*time.Minute)
	jobs := db.lease(10, 10)
	require.Len(t, jobs, 1)
	require.Equal(t, ids[0], jobs[0].EventID)
	require.Zero(t, jobs[0].Tries)
}

// An outcome was buffered while the database was unavailable, and its retry is long due when it is settled.
func TestSlowSettlesAreFound(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.destination(1, delivery.Destination{})
	db.queue(1, 1)
	late := became(db.lease(10, 10)[0], delivery.Ours, "away")
	late.DueAt = time.Now().Add(-40 * time.Second)
	db.exec(`UPDATE destination_states SET next_at = now()`)
	require.Empty(t, db.lease(10, 10))
	db.settle(late)
	require.Len(t, db.lease(10, 10), 1)
}

// Nothing is read below what a lease has seen, unless it was committed late.
func TestSlowCommitsAreFound(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.destination(1, delivery.Destination{})
	db.queue(1, 1)
	db.settle(each(db.lease(10, 10), delivery.OK, "200")...)
	db.queue(1, 1)
	db.exec(`UPDATE delivery_queue SET due_at = now() - interval '1 h'`)
	require.Empty(t, db.lease(10, 10))
	require.NoError(t, db.Outbox.Rearm(t.Context()))
	require.Len(t, db.lease(10, 10), 1)
}

// However many deliveries wait for destinations that are paused, open or full: a lease reads some pages, and serves the others.
func TestAPausedQueueIsNotRead(t *testing.T) {
	t.Parallel()
	seen := &statements{}
	db := open(t, func(c *persistence.Config) { c.Tracer = seen })
	for id := range int64(4) {
		db.destination(id+1, delivery.Destination{InFlight: 1})
	}
	db.exec(`
INSERT INTO delivery_queue (event_id, subscription_id, destination_id, due_at)
SELECT gen_random_uuid(), 1 + i % 3, 1 + i % 3, now() - interval '1 min' FROM generate_series(1, 10000) AS i`)
	db.exec(`ANALYZE`)
	_, err := db.Subscriptions.SetDestinationState(t.Context(), "d1", delivery.DestinationPaused, ada)
	require.NoError(t, err)
	db.exec(`UPDATE destination_states SET breaker = 'open', open_until = now() + interval '1 h', next_at = now() + interval '1 h',
       held = 'open' WHERE destination_id = 2`)
	require.Len(t, db.lease(100, 100), 1, "of the one that may have one under way")
	db.queue(4, 1)
	seen.forget()
	require.Len(t, db.lease(100, 100), 1)

	db.exec(`SET enable_seqscan = off`)
	buffers := 0
	for _, sent := range seen.sent {
		if !regexp.MustCompile(`delivery_queue|destination_states`).MatchString(sent.sql) {
			continue
		}
		only := &statements{sent: []statement{sent}}
		db.exec(`BEGIN`)
		plan := only.planOf(t, db, "EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) ", func(string) bool { return true })
		db.exec(`ROLLBACK`)
		require.NotContains(t, plan, "Seq Scan", plan)
		for _, hit := range regexp.MustCompile(`(?m)^ *Buffers: shared hit=(\d+)`).FindAllStringSubmatch(plan, 1) {
			n, err := strconv.Atoi(hit[1])
			require.NoError(t, err)
			buffers += n
		}
	}
	require.Positive(t, buffers)
	require.Less(t, buffers, 150, "the queue has some hundred pages")
}

// However many deliveries some destinations have, the others are served: each gets a share, in turn.
func TestNoDestinationBlocksAnother(t *testing.T) {
	t.Parallel()
	db := open(t)
	for id := range int64(5) {
		db.destination(id+1, delivery.Destination{InFlight: 100})
	}
	for id := range int64(4) {
		db.queue(id+1, 50)
	}
	require.Len(t, db.lease(8, 4), 8)
	require.Len(t, db.lease(8, 4), 8)
	require.Equal(t, 4, value[int](db, `SELECT count(DISTINCT destination_id) FROM delivery_queue WHERE lease IS NOT NULL`))
	db.queue(5, 1)
	for range 3 {
		db.lease(8, 4)
	}
	require.Equal(t, 1, value[int](db, `SELECT count(*) FROM delivery_queue WHERE lease IS NOT NULL AND destination_id = 5`))
}

func TestADeadDeliveryIsNoDeadEvent(t *testing.T) {
	t.Parallel()
	db := open(t)
	ctx := t.Context()
	db.destination(1, delivery.Destination{})
	letter := db.shared().BuryDelivery(1)
	require.Equal(t, event.StepDeliver, letter.Failure.Step)
	require.Equal(t, "s1", letter.Subscription)
	require.Equal(t, `{"id":1}`, string(letter.Body))
	_, err := db.DeadLetters.DeadLetterOfEvent(ctx, letter.Receipt.ID)
	require.ErrorIs(t, err, event.ErrNotFound)

	_, err = db.DeadLetters.EditDeadLetter(ctx, operation.Edit{DeadLetter: letter.ID, EventID: receipt().ID}, ada)
	require.Equal(t, "not_editable", event.CodeOf(err))
	p := operation.AutomaticReplay{ReplayPolicy: operation.ReplayPolicy{
		Attempts: 3, Base: time.Nanosecond, Classes: event.Classes(),
	}}
	planned, _, err := db.DeadLetters.PlanAutomaticReplay(ctx, p)
	require.NoError(t, err)
	require.Zero(t, planned, "it is left to people")

	by := ada
	by.Reason = "nobody wants it"
	require.NoError(t, db.DeadLetters.DiscardDeadLetter(ctx, letter.ID, by))
	require.Zero(t, value[int](db, `SELECT count(*) FROM decisions`))
	require.Equal(t, event.StatusProcessed, db.status(letter.Receipt.ID))
	require.NoError(t, db.DeadLetters.ReopenDeadLetter(ctx, letter.ID, ada))

	taken, err := db.DeadLetters.ClaimForReplay(ctx, "one", letter.ID, ada)
	require.NoError(t, err)
	require.Equal(t, `{"id":1}`, string(taken.Body))
	require.NoError(t, db.Outbox.Redeliver(ctx, letter.Receipt.ID, 1))
	require.NoError(t, db.Outbox.Redeliver(ctx, letter.Receipt.ID, 1), "twice is once")
	db.settle(each(db.lease(10, 10), delivery.OK, "200")...)
	require.Equal(t, "resolved", value[string](db, `SELECT state FROM dead_letters`))
}

func TestUnsentDeliveriesArePendingAgain(t *testing.T) {
	t.Parallel()
	db := open(t)
	ctx := t.Context()
	db.destination(1, delivery.Destination{})
	unsent, sent := db.shared().BuryDelivery(1), db.shared().BuryDelivery(1)
	for _, letter := range []event.DeadLetter{unsent, sent} {
		_, err := db.DeadLetters.ClaimForReplay(ctx, "one", letter.ID, ada)
		require.NoError(t, err)
	}
	require.NoError(t, db.Outbox.Redeliver(ctx, sent.Receipt.ID, 1))
	db.exec(`UPDATE dead_letters SET replaying_since = now() - interval '1 h'`)
	stale, err := db.DeadLetters.StaleReplays(ctx, 0, 10)
	require.NoError(t, err)
	require.Empty(t, stale)
	require.Equal(t, "open", value[string](db, `SELECT state FROM dead_letters WHERE id = $1`, unsent.ID))
	require.Equal(t, "replaying", value[string](db, `SELECT state FROM dead_letters WHERE id = $1`, sent.ID))

	by := ada
	by.Reason = "nobody wants it"
	require.NoError(t, db.DeadLetters.DiscardDeadLetter(ctx, sent.ID, by), "no lease is that long")
	require.Zero(t, db.open(1), "and it is not delivered any more")
}

// An event stays while a delivery of it is open, whatever its age; afterwards its ended deliveries are removed as well.
func TestAnEventStaysWhileItIsToBeDelivered(t *testing.T) {
	t.Parallel()
	db := open(t)
	ctx := t.Context()
	db.destination(1, delivery.Destination{})
	letter := db.shared().BuryDelivery(1)
	db.queue(1, 1)
	later := persistencetest.Soon()
	n, err := db.Upkeep.PurgeBatch(ctx, retention.Events, later)
	require.NoError(t, err)
	require.Zero(t, n)

	require.NoError(t, db.discardLetter(letter.ID))
	db.settle(each(db.lease(10, 10), delivery.OK, "200")...)
	n, err = db.Upkeep.PurgeBatch(ctx, retention.Events, later)
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
}

func (d *database) discardLetter(id int64) error {
	by := ada
	by.Reason = "old"
	return d.DeadLetters.DiscardDeadLetter(d.t.Context(), id, by)
}

// Whole weeks are removed, once all of a week is old, and those to come are created again.
func TestPartitionsComeAndGo(t *testing.T) {
	t.Parallel()
	db := open(t)
	ctx := t.Context()
	partitions := func() int {
		return value[int](db, `SELECT count(*) FROM pg_inherits WHERE inhparent = 'deliveries'::regclass`)
	}
	require.Equal(t, 7, partitions(), "five weeks, all before, all others")
	db.destination(1, delivery.Destination{})
	db.queue(1, 3)
	db.settle(each(db.lease(10, 10), delivery.OK, "200")...)
	require.Regexp(t, `^deliveries_\d{8}$`, value[string](db, `SELECT DISTINCT tableoid::regclass::text FROM deliveries`))
	old := `
INSERT INTO deliveries (event_id, subscription_id, destination_id, status, code, attempts, generation, ms, queued_at)
SELECT ('00000000-0000-7000-8000-' || lpad(i::text, 12, '0'))::uuid, 1, 1, 'delivered', '', 1, 0, 0, now()
  FROM generate_series(1, 10) AS i`
	db.exec(old)
	db.exec(`DELETE FROM events`)
	n, err := db.Upkeep.PurgeBatch(ctx, retention.Events, time.Now().Add(-time.Hour))
	require.NoError(t, err)
	require.EqualValues(t, 10, n)
	require.Equal(t, 7, partitions())
	require.Equal(t, 3, value[int](db, `SELECT count(*) FROM deliveries`))

	_, err = db.Upkeep.PurgeBatch(ctx, retention.Events, time.Now().Add(8*24*time.Hour))
	require.NoError(t, err)
	require.Less(t, partitions(), 7)
	require.Zero(t, value[int](db, `SELECT count(*) FROM deliveries`))
	require.NoError(t, db.Outbox.CreatePartitions(ctx))
	require.NoError(t, db.Outbox.CreatePartitions(ctx))
	require.Equal(t, 7, partitions())
}

// A role that uses the tables need not own them; one that may not delete rows may not drop partitions.
func TestARoleThatOwnsNothingKeepsPartitions(t *testing.T) {
	t.Parallel()
	db := open(t)
	name := "app" + value[string](db, `SELECT md5(current_database())`)
	db.exec(`CREATE ROLE ` + name)
	t.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), db.url)
		require.NoError(t, err)
		defer conn.Close(context.Background())
		_, err = conn.Exec(context.Background(), `DROP OWNED BY `+name+`; DROP ROLE `+name, pgx.QueryExecModeSimpleProtocol)
		require.NoError(t, err)
	})
	db.exec(`GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO ` + name)
	db.exec(`SELECT drop_delivery_partitions(now() + interval '8 days')`)
	db.exec(`SET SESSION AUTHORIZATION ` + name)
	db.exec(`SELECT keep_delivery_partitions()`)
	_, err := db.sql.Exec(t.Context(), `SELECT drop_delivery_partitions(now() + interval '8 days')`)
	require.ErrorContains(t, err, "may not be removed")
	db.exec(`RESET SESSION AUTHORIZATION`)
}

func TestAnExpungedEventIsDeliveredNoMore(t *testing.T) {
	t.Parallel()
	db := open(t)
	ctx := t.Context()
	db.destination(1, delivery.Destination{})
	db.destination(2, delivery.Destination{})
	id := db.queue(1, 1)[0]
	answered := became(db.lease(10, 10)[0], delivery.Bad, "500")
	answered.Answer = []byte("personal")
	answered.DueAt = time.Now().Add(-time.Second)
	db.settle(answered)
	db.exec(`
INSERT INTO deliveries (event_id, subscription_id, destination_id, status, code, attempts, generation, ms, answer, queued_at)
VALUES ($1, 2, 2, 'delivered', '200', 1, 0, 0, 'personal', now())`, id)
	job := db.lease(10, 10)[0]
	_, err := db.Upkeep.Expunge(ctx, id, 0, ada)
	require.NoError(t, err)
	require.Zero(t, db.open(1))
	require.Zero(t, value[int](db, `SELECT count(*) FROM delivery_attempts`))
	late := became(job, delivery.OK, "200")
	late.Answer = []byte("personal")
	db.settle(late)
	require.Equal(t, "expunged", value[string](db, `SELECT code FROM deliveries WHERE subscription_id = 1 AND answer IS NULL`))
	require.Equal(t, "200", value[string](db, `SELECT code FROM deliveries WHERE subscription_id = 2 AND answer IS NULL`))
	_, err = db.Outbox.Resend(ctx, delivery.Key{EventID: id, SubscriptionID: 2}, ada)
	require.ErrorIs(t, err, event.ErrNotFound)
}

// Each invariant finds violations, and nothing in healthy data.
func TestTheInvariantsOfDeliveries(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.destination(1, delivery.Destination{InFlight: 2})
	ids := db.queue(1, 4)
	db.exec(`UPDATE events SET processed_at = now() + interval '1 s'`)
	db.settle(each(db.lease(10, 10), delivery.OK, "200")...)
	db.lease(10, 10)
	found := func(seen ...string) map[ledger.Invariant]int {
		all, err := check.Deliveries(t.Context(), persistence.Config{URL: db.url}, check.Endpoint{SubscriptionID: 1, All: true, Seen: seen})
		require.NoError(t, err)
		broken := map[ledger.Invariant]int{}
		for _, f := range all {
			if f.Broken() {
				broken[f.Invariant] = f.Count
			}
		}
		return broken
	}
	require.Empty(t, found(ids...))
	require.Equal(t, map[ledger.Invariant]int{ledger.DeliveryUnseen: 1}, found(ids[1:]...))

	db.exec(`UPDATE events SET outcome = 'ignored' WHERE id = (SELECT event_id FROM deliveries ORDER BY event_id DESC LIMIT 1)`)
	require.Equal(t, map[ledger.Invariant]int{ledger.DeliveryUnasked: 1}, found(ids...))
	db.exec(`UPDATE events SET outcome = 'processed'`)

	db.exec(`UPDATE destinations SET settings = '{"in_flight":1}'`)
	db.exec(`DELETE FROM deliveries WHERE event_id = $1`, ids[0])
	db.exec(`INSERT INTO delivery_queue (event_id, subscription_id, destination_id, due_at)
SELECT event_id, 1, 1, now() - interval '1 h' FROM deliveries`)
	db.exec(`INSERT INTO deliveries (event_id, subscription_id, destination_id, status, code, attempts, generation, ms, queued_at)
VALUES (gen_random_uuid(), 1, 1, 'failed', '422', 1, 0, 0, now()),
       (gen_random_uuid(), 1, 1, 'failed', 'expired', 1, 0, 0, now())`)
	db.exec(`UPDATE destination_states SET next_at = 'infinity', held = ''`)
	require.Equal(t, map[ledger.Invariant]int{
		ledger.DeliveryCrowd: 1, ledger.DeliveryLost: 1, ledger.DeliveryTwoEnds: 1,
		ledger.DeliveryAsleep: 1, ledger.DeliveryUnburied: 1,
	}, found(ids...))
}

// A destination is down too briefly for a breaker. The failed deliveries wait for minutes; the oldest probes every 30 seconds
// without using up an attempt, and its success makes the others due, once.
func TestAFailingDestinationIsProbed(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.destination(1, delivery.Destination{})
	db.queue(1, 3)
	fails := func(jobs []delivery.Job) {
		settled := each(jobs, delivery.Bad, "503")
		for i := range settled {
			settled[i].DueAt = time.Now().Add(5*time.Minute + time.Duration(i)*time.Second) // one after the other
			if !settled[i].WaitsUntil.IsZero() {
				settled[i].DueAt = settled[i].WaitsUntil
			}
		}
		db.settle(settled...)
	}
	fails(db.lease(10, 10))
	require.Empty(t, db.lease(10, 10))
	db.passes(1, 31*time.Second)
	probe := db.lease(10, 10)
	require.Len(t, probe, 1)
	require.WithinDuration(t, time.Now().Add(4*time.Minute+29*time.Second), probe[0].WaitsUntil, 20*time.Second)
	require.Empty(t, db.lease(10, 10), "one at a time")
	fails(probe)
	require.Equal(t, 3, value[int](db, `SELECT sum(attempts) FROM delivery_queue`), "a probe uses up no attempt")
	require.Empty(t, db.lease(10, 10))
	db.passes(1, 31*time.Second)
	require.Equal(t, probe[0].Key, db.lease(10, 10)[0].Key)
	db.settle(became(probe[0], delivery.OK, "200"))
	pulled := db.lease(10, 10)
	require.Len(t, pulled, 2)
	fails(pulled[:1])
	db.settle(became(pulled[1], delivery.OK, "200"))
	require.Empty(t, db.lease(10, 10), "one that fails again has failed by itself")
	db.passes(1, 31*time.Second)
	require.Empty(t, db.lease(10, 10), "nothing has failed since the last success")
}

// A destination responds 502 with a Retry-After: no probe comes before.
func TestNoProbeComesBeforeRetryAfter(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.destination(1, delivery.Destination{})
	db.queue(1, 1)
	fails := func(jobs []delivery.Job) {
		t.Helper()
		require.Len(t, jobs, 1)
		failed := became(jobs[0], delivery.Slow, "502")
		failed.RetryAfter = 10 * time.Minute
		if failed.DueAt = time.Now().Add(20 * time.Minute); !failed.WaitsUntil.IsZero() {
			failed.DueAt = failed.WaitsUntil
		}
		db.settle(failed)
	}
	fails(db.lease(10, 10))
	db.passes(1, 9*time.Minute)
	require.Empty(t, db.lease(10, 10))
	db.passes(1, time.Minute)
	fails(db.lease(10, 10))
	db.passes(1, 9*time.Minute)
	require.Empty(t, db.lease(10, 10))
}

// The breaker is open, and nothing is due: a pending delivery probes it, and a success pulls the others forward.
func TestAnOpenBreakerIsProbedByAPendingDelivery(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.destination(1, delivery.Destination{})
	db.queue(1, 6)
	failed := each(db.lease(10, 10), delivery.Bad, "connection")
	for i := range failed {
		failed[i].DueAt = time.Now().Add(5 * time.Minute)
	}
	db.settle(failed...)
	require.Equal(t, "open 1", db.breakerOf(1))
	db.passes(1, 31*time.Second)
	probe := db.lease(10, 10)
	require.Len(t, probe, 1)
	require.Equal(t, "half_open 2", db.breakerOf(1))
	db.settle(each(probe, delivery.OK, "200")...)
	more := db.lease(10, 10)
	require.Len(t, more, 2)
	db.settle(each(more, delivery.OK, "200")...)
	require.Equal(t, "closed 2", db.breakerOf(1))
	require.Len(t, db.lease(10, 10), 3)
}
