package outbox_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/persistence"
	"holdfast/persistence/persistencetest"
)

func TestADeliveryIsLeasedOnceAndSettled(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	db.Destination(1, delivery.Destination{})
	ids := db.Queue(1, 3)

	jobs := db.Lease(10, 10)
	require.Len(t, jobs, 3)
	for i, j := range jobs {
		require.Equal(t, ids[i], j.EventID)
		require.Equal(t, 0, j.Tries)
		require.WithinDuration(t, time.Now().Add(30*time.Second), j.LeasedUntil, 5*time.Second)
	}
	require.Empty(t, db.Lease(10, 10), "leased is leased")

	settled := persistencetest.Each(jobs, delivery.OK, "200")
	settled[1].Answer = []byte("no \x00 text \xff")
	require.Empty(t, db.Settle(settled...))
	require.Equal(t, 0, db.Waiting(1))
	require.Equal(t, 3, persistencetest.Value[int](db, `SELECT count(*) FROM deliveries WHERE status = 'delivered' AND attempts = 1 AND ms = 7`))
	require.Equal(t, []byte("no \x00 text \xff"), persistencetest.Value[[]byte](db, `SELECT answer FROM deliveries WHERE event_id = $1`, ids[1]))
	require.Equal(t, 0, persistencetest.Value[int](db, `SELECT count(*) FROM delivery_attempts`), "a first success adds no row")
}

func TestAFailedAttemptIsMadeAgainWhenItIsDue(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	db.Destination(1, delivery.Destination{})
	id := db.Queue(1, 1)[0]
	failed := persistencetest.Became(db.Lease(10, 10)[0], delivery.Slow, "503")
	failed.DueAt = time.Now().Add(time.Hour)
	db.Settle(failed)
	require.Empty(t, db.Lease(10, 10))
	require.WithinDuration(t, time.Now().Add(time.Hour), persistencetest.Value[time.Time](db, `SELECT due_at FROM delivery_queue`), time.Minute)
	require.Equal(t, "503", persistencetest.Value[string](db, `SELECT failure FROM destination_states WHERE failing_since IS NOT NULL`))

	db.Passes(1, time.Hour)
	jobs := db.Lease(10, 10)
	require.Len(t, jobs, 1)
	require.Equal(t, 1, jobs[0].Attempts)
	require.Equal(t, 0, jobs[0].Tries)
	db.Settle(persistencetest.Became(jobs[0], delivery.OK, "204"))
	require.Equal(t, 2, persistencetest.Value[int](db, `SELECT attempts FROM deliveries WHERE event_id = $1`, id))
	require.Equal(t, 2, persistencetest.Value[int](db, `SELECT count(*) FROM delivery_attempts`))
	require.True(t, persistencetest.Value[bool](db, `SELECT failing_since IS NULL AND failures = 0 FROM destination_states`))
}

func TestAFailedDeliveryIsADeadLetterOfItsSubscription(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	db.Destination(1, delivery.Destination{})
	db.Destination(2, delivery.Destination{})
	id := db.Queue(1, 1)[0]
	db.Exec(`INSERT INTO delivery_queue (event_id, subscription_id, destination_id) VALUES ($1, 2, 2)`, id)
	db.Outbox.MadeDue(2)
	settled := persistencetest.Each(db.Lease(10, 10), delivery.Final, "422")
	require.Len(t, settled, 2)
	for i := range settled {
		settled[i].Dead = true
	}
	db.Settle(settled...)
	require.Equal(t, 2, persistencetest.Value[int](db, `
SELECT count(DISTINCT subscription_id) FROM dead_letters
 WHERE event_id = $1 AND step = 'deliver' AND state = 'open' AND error_class = 'rejected' AND error_code = '422'`, id))
	require.Equal(t, 2, persistencetest.Value[int](db, `SELECT count(*) FROM deliveries WHERE status = 'failed' AND code = '422'`))
	require.Equal(t, "processed", string(db.Status(id)))
}

func TestALateSuccessWins(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(*testing.T, *persistencetest.Database, delivery.Job){
		"another process attempts it": func(t *testing.T, db *persistencetest.Database, j delivery.Job) {
			db.Passes(1, time.Hour)
			second := db.Lease(10, 10)
			require.Len(t, second, 1)
			require.Equal(t, 1, second[0].Tries)
		},
		"it waits again": func(*testing.T, *persistencetest.Database, delivery.Job) {},
		"it has failed": func(t *testing.T, db *persistencetest.Database, _ delivery.Job) {
			db.Passes(1, time.Hour)
			dead := persistencetest.Became(db.Lease(10, 10)[0], delivery.Final, "422")
			dead.Dead = true
			db.Settle(dead)
			require.Equal(t, 1, persistencetest.Value[int](db, `SELECT count(*) FROM dead_letters WHERE state = 'open'`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := persistencetest.Open(t)
			db.Destination(1, delivery.Destination{})
			db.Queue(1, 1)
			job := db.Lease(10, 10)[0]
			meanwhile(t, db, job)
			db.Settle(persistencetest.Became(job, delivery.OK, "200"))
			require.Equal(t, 0, db.Waiting(1))
			require.Equal(t, "delivered", persistencetest.Value[string](db, `SELECT status FROM deliveries`))
			require.Equal(t, 0, persistencetest.Value[int](db, `SELECT count(*) FROM dead_letters WHERE state <> 'resolved'`))
		})
	}
}

func TestALateFailureChangesNothing(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	db.Destination(1, delivery.Destination{})
	db.Queue(1, 1)
	first := db.Lease(10, 10)[0]
	db.Passes(1, time.Hour)
	second := db.Lease(10, 10)
	require.Len(t, second, 1)
	late := persistencetest.Became(first, delivery.Final, "422")
	late.Dead = true
	db.Settle(late)
	require.Equal(t, 1, db.Waiting(1))
	require.Empty(t, db.Lease(10, 10))
	db.Settle(persistencetest.Became(second[0], delivery.OK, "200"))
	require.Equal(t, 0, db.Waiting(1))
}

func TestTooManyLeasesMakeADeadLetter(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	db.Destination(1, delivery.Destination{})
	id := db.Queue(1, 1)[0]
	for tries := range 5 {
		jobs := db.Lease(10, 10)
		require.Len(t, jobs, 1)
		require.Equal(t, tries, jobs[0].Tries)
		db.Passes(1, time.Hour) // the process has died
	}
	require.Empty(t, db.Lease(10, 10))
	require.Equal(t, 0, db.Waiting(1))
	require.Equal(t, "lost_leases", persistencetest.Value[string](db, `
SELECT error_code FROM dead_letters WHERE event_id = $1 AND subscription_id = 1`, id))
}

func TestNoMoreAreUnderWayThanMayBe(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t, func(c *persistence.Config) { c.MaxConns = 20 })
	db.Destination(1, delivery.Destination{InFlight: 7})
	db.Queue(1, 200)
	type leased struct {
		jobs []delivery.Job
		err  error
	}
	results := make(chan leased)
	for range 8 {
		go func() {
			for range 10 {
				jobs, _, err := db.Outbox.Lease(t.Context(), delivery.LeaseRequest{Limit: 5, Room: persistencetest.UpTo(3)})
				results <- leased{jobs, err}
			}
		}()
	}
	var under []delivery.Job
	for range 80 {
		r := <-results
		require.NoError(t, r.err)
		under = append(under, r.jobs...)
	}
	require.LessOrEqual(t, len(under), 7)
	under = append(under, db.Lease(100, 100)...) // a lease leaves out a destination that another one works on
	require.Len(t, under, 7)
	require.Equal(t, 7, persistencetest.Value[int](db, `SELECT count(*) FROM delivery_queue WHERE lease IS NOT NULL`))
	require.Empty(t, db.Lease(100, 100))
	db.Settle(persistencetest.Each(under[:2], delivery.OK, "200")...)
	require.Len(t, db.Lease(100, 100), 2, "an outcome makes room at once")
}

// Dispatchers come and go: never are more attempts in flight than allowed, all deliveries succeed, and none waits for the end of
// a lease.
func TestManyDispatchersWorkOffAQueueBeneathItsCap(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t, func(c *persistence.Config) { c.MaxConns = 20 })
	db.Destination(1, delivery.Destination{InFlight: 3})
	db.Destination(2, delivery.Destination{InFlight: 1})
	db.Queue(1, 150)
	db.Queue(2, 50)
	errs := make(chan error)
	for range 6 {
		go func() { errs <- workOff(t, db) }()
	}
	for range 6 {
		require.NoError(t, <-errs)
	}
	require.Equal(t, 200, persistencetest.Value[int](db, `SELECT count(*) FROM deliveries WHERE status = 'delivered' AND attempts = 1`))
}

func workOff(t *testing.T, db *persistencetest.Database) error {
	for {
		jobs, next, err := db.Outbox.Lease(t.Context(), delivery.LeaseRequest{Limit: 4, Room: persistencetest.UpTo(2)})
		if err != nil {
			return err
		}
		if len(jobs) == 0 {
			var left, under int
			if err := db.Pool().QueryRow(t.Context(), `
SELECT count(*), coalesce(max(n), 0) FROM (
       SELECT destination_id, count(*) FILTER (WHERE lease IS NOT NULL) - 2 * (2 - destination_id) - 1 AS n
         FROM delivery_queue GROUP BY destination_id) AS q`).Scan(&left, &under); err != nil {
				return err
			}
			if under > 0 {
				return fmt.Errorf("%d too many are under way", under)
			}
			if left == 0 {
				return nil
			}
			select {
			case <-db.Outbox.Wakes():
			case <-time.After(time.Until(next)):
			}
			continue
		}
		if _, err := db.Outbox.Settle(t.Context(), persistencetest.Each(jobs, delivery.OK, "200")); err != nil {
			return err
		}
	}
}

// The command line sends again without dispatching: a dispatcher checks immediately, instead of finding the delivery by chance.
func TestResentEventsAreLookedForAtOnce(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	db.Destination(1, delivery.Destination{})
	key := delivery.Key{EventID: db.Queue(1, 1)[0], SubscriptionID: 1}
	db.Settle(persistencetest.Became(db.Lease(10, 10)[0], delivery.OK, "200"))
	db.Exec(`UPDATE destination_states SET next_at = 'infinity'`)
	_, err := db.Another().Outbox.Resend(t.Context(), key, persistencetest.Ada)
	require.NoError(t, err)
	require.Len(t, db.Lease(10, 10), 1)
}

func TestASecondGenerationIsSentUnderANewID(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	ctx := t.Context()
	db.Destination(1, delivery.Destination{})
	key := delivery.Key{EventID: db.Queue(1, 1)[0], SubscriptionID: 1}
	first := persistencetest.Became(db.Lease(10, 10)[0], delivery.Final, "422")
	first.Dead = true
	db.Settle(first)

	d, err := db.Outbox.Resend(ctx, key, persistencetest.Ada)
	require.NoError(t, err)
	require.Equal(t, delivery.Pending, d.Status)
	require.Equal(t, 1, d.Generation)
	require.Equal(t, "replaying", persistencetest.Value[string](db, `SELECT state FROM dead_letters`))
	job := db.Lease(10, 10)[0]
	require.Equal(t, job.Key.ID()+"-1", job.ID())
	_, err = db.Outbox.Resend(ctx, key, persistencetest.Ada)
	require.Equal(t, "delivery_under_way", event.CodeOf(err))

	db.Settle(persistencetest.Became(first.Job, delivery.OK, "200")) // of the first generation, late
	require.Equal(t, 1, db.Waiting(1))

	again := persistencetest.Became(job, delivery.Final, "500")
	again.Dead = true
	db.Settle(again)
	require.Equal(t, "open 2", persistencetest.Value[string](db, `SELECT state || ' ' || failures FROM dead_letters`))

	_, err = db.Outbox.Resend(ctx, key, persistencetest.Ada)
	require.NoError(t, err)
	job = db.Lease(10, 10)[0]
	require.Equal(t, 2, job.Generation)
	db.Settle(persistencetest.Became(job, delivery.OK, "200"))
	require.Equal(t, "resolved", persistencetest.Value[string](db, `SELECT state FROM dead_letters`))
	d, err = db.Outbox.Delivery(ctx, key)
	require.NoError(t, err)
	require.Equal(t, delivery.Delivered, d.Status)
	attempts, err := db.Outbox.AttemptsOf(ctx, key.EventID)
	require.NoError(t, err)
	require.Len(t, attempts, 3)
	for i, a := range attempts {
		require.Equal(t, i+1, a.Number, "the attempts of a delivery that is sent again go on counting")
	}

	_, err = db.Outbox.Resend(ctx, key, persistencetest.Ada) // also a delivered one
	require.NoError(t, err)
	d, err = db.Outbox.CancelDelivery(ctx, key, persistencetest.Ada)
	require.NoError(t, err)
	require.Equal(t, delivery.Canceled, d.Status)
	_, err = db.Outbox.CancelDelivery(ctx, key, persistencetest.Ada)
	require.ErrorIs(t, err, event.ErrNotFound)
	late := delivery.Key{EventID: key.EventID, SubscriptionID: 2} // created after the event was processed
	db.Destination(2, delivery.Destination{})
	_, err = db.Outbox.Resend(ctx, late, persistencetest.Ada)
	require.NoError(t, err)
	db.Settle(persistencetest.Became(db.Lease(10, 10)[0], delivery.OK, "200"))
	d, err = db.Outbox.Delivery(ctx, late)
	require.NoError(t, err)
	require.Equal(t, delivery.Delivered, d.Status)
	_, err = db.Outbox.Resend(ctx, delivery.Key{EventID: key.EventID, SubscriptionID: 9}, persistencetest.Ada)
	require.ErrorIs(t, err, event.ErrNotFound)
	require.Equal(t, 4, persistencetest.Value[int](db, `SELECT count(*) FROM audit_log WHERE object = $1`, "delivery:"+key.EventID+"/1"))
}

// A list shows why the last attempt failed and the response, and events are found by the status of a delivery.
func TestListsShowTheLastAttempt(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	ctx := t.Context()
	db.Destination(1, delivery.Destination{})
	id := db.Queue(1, 1)[0]
	job := db.Lease(10, 10)[0]
	first := persistencetest.Became(job, delivery.Bad, "connection")
	first.Error, first.Answer = "connection refused", []byte("wait")
	db.Settle(first)
	shown := func(status delivery.Status) {
		t.Helper()
		of, err := db.Outbox.DeliveriesOf(ctx, id)
		require.NoError(t, err)
		require.Equal(t, status, of[0].Status)
		require.Equal(t, "connection refused wait", of[0].Error+" "+string(of[0].Answer))
		listed, err := db.Outbox.Deliveries(ctx, delivery.Query{Limit: 5})
		require.NoError(t, err)
		require.Equal(t, of, listed)
		statuses, err := db.Outbox.StatusesOf(ctx, []string{id})
		require.NoError(t, err)
		require.Equal(t, map[string]delivery.Status{id: status}, statuses)
		for _, wanted := range delivery.Statuses() {
			found, err := db.Read.Events(ctx, event.RecordQuery{DeliveryStatus: string(wanted), Limit: 5})
			require.NoError(t, err)
			require.Equal(t, wanted == status, len(found) == 1, wanted)
		}
	}
	shown(delivery.Retrying)
	job = db.Lease(10, 10)[0]
	last := persistencetest.Became(job, delivery.Final, "connection")
	last.Error, last.Answer, last.Dead = "connection refused", []byte("wait"), true
	db.Settle(last)
	shown(delivery.Failed)
}

// The next attempt at a failing destination is the probe, which is earlier than its next retry. An operator has it made now: before
// the probe, before an open breaker closes, and before the end of a pause that the endpoint has asked for.
func TestTheNextAttemptIsTheProbeAndCanBeMadeNow(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	db.Destination(1, delivery.Destination{Breaker: delivery.Breaker{Failures: 2}})
	db.Queue(1, 2)
	jobs := db.Lease(10, 10)
	next := func() time.Duration {
		c, err := db.Subscriptions.Condition(t.Context(), 1)
		require.NoError(t, err)
		require.NotNil(t, c.NextAt)
		require.True(t, c.CanRetry())
		return time.Until(*c.NextAt)
	}
	fail := func(job delivery.Job) {
		failed := persistencetest.Became(job, delivery.Bad, "503")
		failed.DueAt = time.Now().Add(4 * time.Minute)
		db.Settle(failed)
	}
	tryNow := func() delivery.Job {
		_, err := db.Subscriptions.ProbeDestination(t.Context(), "d1", persistencetest.Ada)
		require.NoError(t, err)
		require.Less(t, next(), time.Second)
		jobs := db.Lease(10, 10)
		require.Len(t, jobs, 1, "one attempt shows whether the endpoint works again")
		return jobs[0]
	}
	fail(jobs[0])
	db.Settle(persistencetest.Became(jobs[1], delivery.OK, "200"))
	db.Exec(`UPDATE delivery_queue SET pulled_forward = true, due_at = now() + interval '4 min'`)
	require.InDelta(t, 240, next().Seconds(), 10, "nothing is probed after a success")
	fail(tryNow())
	require.InDelta(t, 30, next().Seconds(), 5, "the probe is earlier than the retry")
	db.Queue(1, 1)
	fail(db.Lease(10, 10)[0])
	require.Equal(t, "open 1", db.BreakerOf(1))
	require.Greater(t, next(), 25*time.Second, "the breaker is open")
	busy := persistencetest.Became(tryNow(), delivery.Busy, "429")
	busy.RetryAfter = time.Hour
	db.Settle(busy)
	require.InDelta(t, 60, next().Minutes(), 1, "the endpoint has asked for a pause")
	db.Settle(persistencetest.Became(tryNow(), delivery.OK, "200"))
	require.Equal(t, 1, db.Waiting(1))

	db.Settle(persistencetest.Each(db.Lease(10, 10), delivery.OK, "200")...)
	db.Queue(1, 1)
	blocked := persistencetest.Became(db.Lease(10, 10)[0], delivery.Blocked, "tls_files")
	blocked.DueAt = time.Now().Add(time.Minute)
	db.Settle(blocked)
	require.InDelta(t, 60, next().Seconds(), 5, "no attempt was counted, so there is no retry to probe with")
	tryNow()
}

func TestADestinationIsPausedAndResumed(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	ctx := t.Context()
	db.Destination(1, delivery.Destination{})
	id := db.Queue(1, 10)[0]
	by := persistencetest.Ada
	by.Reason = "maintenance"
	c, err := db.Subscriptions.SetDestinationState(ctx, "d1", delivery.DestinationPaused, by)
	require.NoError(t, err)
	require.Equal(t, "maintenance", c.Reason)
	require.EqualValues(t, 10, c.Waiting)
	require.Empty(t, db.Lease(10, 10))
	of, err := db.Outbox.DeliveriesOf(ctx, id)
	require.NoError(t, err)
	require.Equal(t, "paused", of[0].Waits)

	_, err = db.Subscriptions.SetDestinationState(ctx, "1", delivery.DestinationReady, persistencetest.Ada)
	require.NoError(t, err)
	require.Len(t, db.Lease(10, 10), 10, "there is no slow start: the destination hasn't failed")
	_, err = db.Subscriptions.SetDestinationState(ctx, "nobody", delivery.DestinationReady, persistencetest.Ada)
	require.ErrorIs(t, err, event.ErrNotFound)
	require.Equal(t, 2, persistencetest.Value[int](db, `SELECT count(*) FROM audit_log WHERE object = 'destination:d1'`))
}

func TestAGoneDestinationIsDisabled(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	db.Destination(1, delivery.Destination{})
	db.Queue(1, 2)
	turns := db.Settle(persistencetest.Each(db.Lease(10, 10), delivery.Gone, "410")...)
	require.Len(t, turns, 1)
	require.NotEmpty(t, turns[0].Disabled)
	require.Empty(t, db.Lease(10, 10))
	require.Equal(t, 2, db.Waiting(1))
	require.Equal(t, 1, persistencetest.Value[int](db, `SELECT count(*) FROM audit_log WHERE action = 'destination.disable'`))
	_, err := db.Subscriptions.SetDestinationState(t.Context(), "d1", delivery.DestinationReady, persistencetest.Ada)
	require.NoError(t, err)
	jobs := db.Lease(10, 10)
	require.Len(t, jobs, 2)
	require.Equal(t, 0, jobs[0].Attempts)
}

func TestMessagesAreBounded(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	db.Destination(1, delivery.Destination{})
	ids := db.Queue(1, 4) // of 8 bytes each
	db.Exec(`DELETE FROM events WHERE id = $1`, ids[1])
	messages, read, err := db.Subscriptions.Messages(t.Context(), ids, 17)
	require.NoError(t, err)
	require.Equal(t, 3, read)
	require.Len(t, messages, 2)
	require.Equal(t, `{"id":1}`, string(messages[ids[0]].Body))
	require.Equal(t, "acme", messages[ids[0]].Receipt.Provider)
	messages, read, err = db.Subscriptions.Messages(t.Context(), ids, 0)
	require.NoError(t, err)
	require.Equal(t, 1, read, "one at least")
	require.Len(t, messages, 1)
}

func TestUndeliveredEvents(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	ctx := t.Context()
	for id := range int64(3) {
		db.Destination(id+1, delivery.Destination{})
		db.Queue(id+1, 5)
	}
	for i, j := range db.Lease(100, 100) {
		settled := persistencetest.Became(j, delivery.OK, "200")
		if i%2 == 0 {
			settled.Kind, settled.Dead, settled.Code = delivery.Final, true, "422"
		}
		if i < 12 {
			db.Settle(settled)
		}
	}
	whole, err := db.Outbox.Deliveries(ctx, delivery.Query{})
	require.NoError(t, err)
	require.Len(t, whole, 15)
	for _, q := range []delivery.Query{
		{}, {Undelivered: true}, {Open: true}, {Status: delivery.Failed}, {Status: delivery.Delivered}, {Status: delivery.Processing},
		{Status: delivery.Canceled}, {SubscriptionID: 2}, {DestinationID: 2}, {DestinationID: 2, Undelivered: true},
		{EventID: whole[3].EventID}, {Since: time.Now().Add(time.Hour)}, {Until: time.Now().Add(time.Hour)},
	} {
		var want, got []delivery.Delivery
		for _, d := range whole {
			open := d.Status == delivery.Processing
			if (q.Status == "" || q.Status == d.Status) && (!q.Open || open) &&
				(!q.Undelivered || open || d.Status == delivery.Failed) && (q.SubscriptionID == 0 || q.SubscriptionID == d.SubscriptionID) &&
				(q.DestinationID == 0 || q.DestinationID == d.DestinationID) && (q.EventID == "" || q.EventID == d.EventID) &&
				q.Since.IsZero() {
				want = append(want, d)
			}
		}
		q.Limit = 2
		for {
			page, err := db.Outbox.Deliveries(ctx, q)
			require.NoError(t, err)
			got = append(got, page...)
			if len(page) < q.Limit {
				break
			}
			q.Before = &delivery.Key{EventID: page[1].EventID, SubscriptionID: page[1].SubscriptionID}
		}
		require.Equal(t, want, got, "%+v", q)
	}
	stats, err := db.Outbox.DeliveryStats(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 3, stats.Open[0].Count)
	require.EqualValues(t, 3, stats.Breakers[delivery.BreakerClosed])
	require.EqualValues(t, 6, stats.DeadLetters)
	conditions, err := db.Subscriptions.Conditions(ctx, []int64{1, 2, 3})
	require.NoError(t, err)
	one, err := db.Subscriptions.Condition(ctx, 3)
	require.NoError(t, err)
	require.Equal(t, one, conditions[3])
	require.EqualValues(t, 3, one.Leased)
}

func TestOldDeliveriesExpire(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	db.Destination(1, delivery.Destination{})
	db.Destination(2, delivery.Destination{Keep: event.Duration(time.Hour)})
	db.Queue(1, 2)
	db.Queue(2, 2)
	n, err := db.Outbox.ExpireDeliveries(t.Context())
	require.NoError(t, err)
	require.Zero(t, n)
	db.Exec(`
UPDATE delivery_queue SET queued_at = now() - interval '2 h',
       event_id = ('00000000-0000-7000-8000-00000000000' || subscription_id)::uuid
 WHERE (event_id, subscription_id) IN (SELECT min(event_id::text)::uuid, subscription_id FROM delivery_queue GROUP BY 2)`)
	n, err = db.Outbox.ExpireDeliveries(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	page, err := db.Outbox.Deliveries(t.Context(), delivery.Query{Status: delivery.Failed})
	require.NoError(t, err)
	require.Len(t, page, 1)
	require.Equal(t, "expired", page[0].Code)
	require.EqualValues(t, 2, page[0].DestinationID)
}

func TestDeletingASubscriptionCancelsItsDeliveries(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	db.Destination(1, delivery.Destination{})
	db.Destination(2, delivery.Destination{})
	db.Destination(3, delivery.Destination{})
	for id := range int64(3) {
		db.Queue(id+1, 2)
	}
	dead := persistencetest.Became(db.Lease(1, 1)[0], delivery.Final, "422")
	dead.Dead = true
	db.Settle(dead)
	db.Exec(`UPDATE subscriptions SET deleted_at = now() WHERE id = 1`)
	db.Exec(`UPDATE destinations SET deleted_at = now() WHERE id = 2`)
	n, err := db.Outbox.CancelDeleted(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 3, n)
	require.Equal(t, 3, persistencetest.Value[int](db, `SELECT count(*) FROM deliveries WHERE status = 'canceled' AND code = 'deleted'`))
	require.Equal(t, 2, db.Waiting(3))
	require.Equal(t, 0, persistencetest.Value[int](db, `SELECT count(*) FROM dead_letters WHERE state = 'open'`))
	require.Len(t, db.Lease(10, 10), 2)
}

// A lease takes as much of each destination as the process has capacity for. Destinations without capacity keep their position.
func TestALeaseFillsTheFreeSlots(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	db.Destination(1, delivery.Destination{})
	db.Destination(2, delivery.Destination{})
	db.Queue(1, 5)
	db.Queue(2, 5)
	of := func(want delivery.LeaseRequest) map[int64]int {
		jobs, _, err := db.Outbox.Lease(t.Context(), want)
		require.NoError(t, err)
		n := map[int64]int{}
		for _, j := range jobs {
			n[j.DestinationID]++
		}
		return n
	}
	room := map[int64]int{2: 1}
	roomOf := func(ids []int64) (rooms []int) {
		for _, id := range ids {
			rooms = append(rooms, room[id])
		}
		return rooms
	}
	require.Equal(t, map[int64]int{2: 1}, of(delivery.LeaseRequest{Limit: 10, Room: roomOf}))
	require.Equal(t, map[int64]int{1: 1}, of(delivery.LeaseRequest{Limit: 1, Room: persistencetest.UpTo(5)}), "it has waited longest")
	room = map[int64]int{1: 1, 2: 1}
	require.Equal(t, map[int64]int{2: 1}, of(delivery.LeaseRequest{Limit: 10, Room: roomOf, Without: []int64{1}}))
	require.Equal(t, map[int64]int{1: 1}, of(delivery.LeaseRequest{Limit: 10, Room: roomOf, Only: []int64{1}}))
	require.Empty(t, of(delivery.LeaseRequest{Limit: 10, Room: roomOf, Only: []int64{}}))
	require.Equal(t, map[int64]int{1: 3, 2: 3}, of(delivery.LeaseRequest{Limit: 10}))
}

// A lease that checks few destinations, since the last one was filled by one, reports that there may be more immediately.
func TestALeaseThatLooksAtFewLooksAgain(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	db.Destination(1, delivery.Destination{InFlight: 50})
	db.Queue(1, 50)
	require.Len(t, db.Lease(50, 50), 50)
	for id := range int64(20) {
		db.Destination(id+2, delivery.Destination{})
		db.Queue(id+2, 1)
	}
	var got []delivery.Job
	for range 3 {
		began := time.Now()
		jobs, next, err := db.Outbox.Lease(t.Context(), delivery.LeaseRequest{Limit: 50})
		require.NoError(t, err)
		if got = append(got, jobs...); len(got) == 20 {
			return
		}
		require.Less(t, next.Sub(began), time.Since(began), "it is to be asked again at once")
	}
	require.Len(t, got, 20)
}

// A batch of first successes is settled as a whole, or else like any other: here one was sent again meanwhile, one has failed
// before, and the lease of one has ended without a new one.
func TestFirstSuccessesAreSettledTogether(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	db.Destination(1, delivery.Destination{})
	db.Queue(1, 4)
	jobs := db.Lease(10, 10)
	db.Exec(`UPDATE delivery_queue SET due_at = now() - interval '1 s' WHERE event_id = $1`, jobs[0].EventID)
	db.Exec(`UPDATE delivery_queue SET generation = 1 WHERE event_id = $1`, jobs[1].EventID)
	db.Exec(`UPDATE delivery_queue SET attempts = 1 WHERE event_id = $1`, jobs[2].EventID)
	var all []delivery.Outcome
	for _, j := range jobs {
		all = append(all, delivery.Outcome{Job: j, Result: delivery.Result{Kind: delivery.OK, Code: "200", At: time.Now()}})
	}
	db.Settle(all...)
	require.Equal(t, 1, db.Waiting(1), "what is sent again is another delivery")
	require.Equal(t, 3, persistencetest.Value[int](db, `SELECT count(*) FROM deliveries WHERE status = 'delivered' AND generation = 0`))
	require.Equal(t, 2, persistencetest.Value[int](db, `SELECT attempts FROM deliveries WHERE event_id = $1`, jobs[2].EventID))
	db.Settle(all...)
	require.Equal(t, 3, persistencetest.Value[int](db, `SELECT count(*) FROM deliveries`))
}

// A success ends the failing state of a destination, also in a batch of successes only.
func TestAFirstSuccessEndsTrouble(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	db.Destination(1, delivery.Destination{})
	db.Queue(1, 1)
	jobs := db.Lease(10, 10)
	db.Exec(`UPDATE destination_states SET failures = 2, failing_since = now(), failure = 'x'`)
	db.Settle(delivery.Outcome{Job: jobs[0], Result: delivery.Result{Kind: delivery.OK, Code: "200", At: time.Now()}})
	require.Equal(t, 1, persistencetest.Value[int](db, `SELECT count(*) FROM destination_states WHERE failures = 0 AND failing_since IS NULL`))
	require.Equal(t, 0, db.Waiting(1))
}

// An alert about failing deliveries must name the destination: of two failing ones, one has its breaker open.
func TestAFailingDestinationShowsItsBreaker(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	for id := range int64(3) {
		db.Destination(id+1, delivery.Destination{})
	}
	db.Exec(`UPDATE destination_states SET failing_since = now() - interval '1 h', failure = 'x' WHERE destination_id = 1`)
	db.Exec(`UPDATE destination_states SET failing_since = now(), failure = 'x', breaker = 'open' WHERE destination_id = 2`)
	stats, err := db.Outbox.DeliveryStats(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"d1", "d2"}, stats.Failing)
	require.Equal(t, map[string]delivery.BreakerState{"d1": delivery.BreakerClosed, "d2": delivery.BreakerOpen}, stats.FailingBreakers)
}

// Each open delivery of a destination is counted once: as pending, retrying or in flight, like in lists.
func TestCountsOfADestinationAgree(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	db.Destination(1, delivery.Destination{InFlight: 3})
	ids := db.Queue(1, 6)
	db.Exec(`UPDATE delivery_queue SET queued_at = now() - interval '1 h', due_at = now() - interval '1 h' WHERE event_id = $1::uuid`, ids[0])
	require.NoError(t, db.Outbox.Rearm(t.Context()))
	jobs := db.Lease(10, 10)
	require.Len(t, jobs, 3)
	require.Equal(t, ids[0], jobs[slices.IndexFunc(jobs, func(j delivery.Job) bool { return j.EventID == ids[0] })].EventID)
	failed := jobs[slices.IndexFunc(jobs, func(j delivery.Job) bool { return j.EventID != ids[0] })]
	settled := persistencetest.Became(failed, delivery.Bad, "500")
	settled.DueAt = time.Now().Add(time.Hour)
	db.Settle(settled)

	c, err := db.Subscriptions.Condition(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, [3]int64{3, 1, 2}, [3]int64{c.Waiting, c.Retrying, c.Leased})
	require.EqualValues(t, 6, c.Open())
	require.WithinDuration(t, time.Now().Add(-time.Hour), *c.Oldest, time.Minute, "also one that is under way")
	all, err := db.Outbox.Deliveries(t.Context(), delivery.Query{DestinationID: 1})
	require.NoError(t, err)
	by := map[delivery.Status]int{}
	for _, d := range all {
		by[d.Status]++
	}
	require.Equal(t, map[delivery.Status]int{delivery.Pending: 3, delivery.Retrying: 1, delivery.Processing: 2}, by)
}
