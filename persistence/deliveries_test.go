package persistence_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/persistence"
)

// destination inserts one with settings, and one subscription with the same ID.
func (d *database) destination(id int64, settings delivery.Destination) int64 {
	d.t.Helper()
	text, err := json.Marshal(settings)
	require.NoError(d.t, err)
	d.exec(`INSERT INTO destinations (id, name, settings, version) OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3, $1)`,
		id, fmt.Sprintf("d%d", id), text)
	d.exec(`INSERT INTO subscriptions (id, name, destination_id, settings, active, version)
OVERRIDING SYSTEM VALUE VALUES ($1, $2, $1, '{}', true, $1)`, id, fmt.Sprintf("s%d", id))
	d.exec(`INSERT INTO destination_states (destination_id) VALUES ($1)`, id)
	return id
}

// queue inserts n deliveries to a destination, each of a processed event, and makes them due like the writer does.
func (d *database) queue(destination int64, n int) (ids []string) {
	d.t.Helper()
	for range n {
		ids = append(ids, uuid.Must(uuid.NewV7()).String())
	}
	d.exec(`
INSERT INTO events (id, provider, source, key, key_from, type, status, outcome, raw_body, headers, receipt,
       payload_note, occurred_at, occurred_at_missing, received_at, processed_at, workflow_id, run_id, request_id, correlation_id)
SELECT id, 'acme', '', id::text, 'event', 'thing.changed', 'processed', 'processed', convert_to('{"id":1}', 'UTF8'), '{}',
       json_build_object('id', id, 'provider', 'acme', 'key', id::text), '', now(), false, now(), now(), 'acme:' || id, 'run',
       '', ''
  FROM unnest($1::uuid[]) AS id`, ids)
	d.exec(`INSERT INTO delivery_queue (event_id, subscription_id, destination_id) SELECT id, $2, $2 FROM unnest($1::uuid[]) AS id`,
		ids, destination)
	d.Outbox.MadeDue(destination)
	return ids
}

func (d *database) lease(limit, share int) []delivery.Job {
	d.t.Helper()
	jobs, _, err := d.Outbox.Lease(d.t.Context(), delivery.LeaseRequest{Limit: limit, Room: upTo(share)})
	require.NoError(d.t, err)
	return jobs
}

// upTo allows n for each destination.
func upTo(n int) func([]int64) []int {
	return func(ids []int64) []int { return slices.Repeat([]int{n}, len(ids)) }
}

func (d *database) settle(settled ...delivery.Outcome) []delivery.Transition {
	d.t.Helper()
	turns, err := d.Outbox.Settle(d.t.Context(), settled)
	require.NoError(d.t, err)
	return turns
}

// became returns the outcome of an attempt.
func became(j delivery.Job, kind delivery.Kind, code string) delivery.Outcome {
	return delivery.Outcome{
		Job: j, Result: delivery.Result{Kind: kind, Code: code, At: time.Now(), Took: 7 * time.Millisecond}, DueAt: time.Now(),
	}
}

func each(jobs []delivery.Job, kind delivery.Kind, code string) (settled []delivery.Outcome) {
	for _, j := range jobs {
		settled = append(settled, became(j, kind, code))
	}
	return settled
}

// passes simulates that time has passed for a destination, by moving the times in its row back.
func (d *database) passes(destination int64, span time.Duration) {
	d.t.Helper()
	d.exec(`UPDATE destination_states SET next_at = next_at - $2::interval, open_until = open_until - $2::interval,
       closed_at = closed_at - $2::interval, tokens_at = tokens_at - $2::interval,
       resume_at = resume_at - $2::interval, probe_at = probe_at - $2::interval, low_at = low_at - $2::interval
 WHERE destination_id = $1`, destination, span)
	d.exec(`UPDATE delivery_queue SET due_at = due_at - $2::interval WHERE destination_id = $1`, destination, span)
}

func (d *database) open(destination int64) int {
	return value[int](d, `SELECT count(*) FROM delivery_queue WHERE destination_id = $1`, destination)
}

func TestADeliveryIsLeasedOnceAndSettled(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.destination(1, delivery.Destination{})
	ids := db.queue(1, 3)

	jobs := db.lease(10, 10)
	require.Len(t, jobs, 3)
	for i, j := range jobs {
		require.Equal(t, ids[i], j.EventID)
		require.Equal(t, 0, j.Tries)
		require.WithinDuration(t, time.Now().Add(30*time.Second), j.LeasedUntil, 5*time.Second)
	}
	require.Empty(t, db.lease(10, 10), "leased is leased")

	settled := each(jobs, delivery.OK, "200")
	settled[1].Answer = []byte("no \x00 text \xff")
	require.Empty(t, db.settle(settled...))
	require.Equal(t, 0, db.open(1))
	require.Equal(t, 3, value[int](db, `SELECT count(*) FROM deliveries WHERE status = 'delivered' AND attempts = 1 AND ms = 7`))
	require.Equal(t, []byte("no \x00 text \xff"), value[[]byte](db, `SELECT answer FROM deliveries WHERE event_id = $1`, ids[1]))
	require.Equal(t, 0, value[int](db, `SELECT count(*) FROM delivery_attempts`), "a first success needs no row of its own")
}

func TestAFailedAttemptIsMadeAgainWhenItIsDue(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.destination(1, delivery.Destination{})
	id := db.queue(1, 1)[0]
	failed := became(db.lease(10, 10)[0], delivery.Slow, "503")
	failed.DueAt = time.Now().Add(time.Hour)
	db.settle(failed)
	require.Empty(t, db.lease(10, 10))
	require.WithinDuration(t, time.Now().Add(time.Hour), value[time.Time](db, `SELECT due_at FROM delivery_queue`), time.Minute)
	require.Equal(t, "503", value[string](db, `SELECT failure FROM destination_states WHERE failing_since IS NOT NULL`))

	db.passes(1, time.Hour)
	jobs := db.lease(10, 10)
	require.Len(t, jobs, 1)
	require.Equal(t, 1, jobs[0].Attempts)
	require.Equal(t, 0, jobs[0].Tries)
	db.settle(became(jobs[0], delivery.OK, "204"))
	require.Equal(t, 2, value[int](db, `SELECT attempts FROM deliveries WHERE event_id = $1`, id))
	require.Equal(t, 2, value[int](db, `SELECT count(*) FROM delivery_attempts`))
	require.True(t, value[bool](db, `SELECT failing_since IS NULL AND failures = 0 FROM destination_states`))
}

func TestAFailedDeliveryIsADeadLetterOfItsSubscription(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.destination(1, delivery.Destination{})
	db.destination(2, delivery.Destination{})
	id := db.queue(1, 1)[0]
	db.exec(`INSERT INTO delivery_queue (event_id, subscription_id, destination_id) VALUES ($1, 2, 2)`, id)
	db.Outbox.MadeDue(2)
	settled := each(db.lease(10, 10), delivery.Final, "422")
	require.Len(t, settled, 2)
	for i := range settled {
		settled[i].Dead = true
	}
	db.settle(settled...)
	require.Equal(t, 2, value[int](db, `
SELECT count(DISTINCT subscription_id) FROM dead_letters
 WHERE event_id = $1 AND step = 'deliver' AND state = 'open' AND error_class = 'rejected' AND error_code = '422'`, id))
	require.Equal(t, 2, value[int](db, `SELECT count(*) FROM deliveries WHERE status = 'failed' AND code = '422'`))
	require.Equal(t, "processed", string(db.status(id)))
}

func TestALateSuccessWins(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(*testing.T, *database, delivery.Job){
		"somebody else attempts it": func(t *testing.T, db *database, j delivery.Job) {
			db.passes(1, time.Hour)
			second := db.lease(10, 10)
			require.Len(t, second, 1)
			require.Equal(t, 1, second[0].Tries)
		},
		"it waits again": func(*testing.T, *database, delivery.Job) {},
		"it has failed": func(t *testing.T, db *database, _ delivery.Job) {
			db.passes(1, time.Hour)
			dead := became(db.lease(10, 10)[0], delivery.Final, "422")
			dead.Dead = true
			db.settle(dead)
			require.Equal(t, 1, value[int](db, `SELECT count(*) FROM dead_letters WHERE state = 'open'`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			db.destination(1, delivery.Destination{})
			db.queue(1, 1)
			job := db.lease(10, 10)[0]
			meanwhile(t, db, job)
			db.settle(became(job, delivery.OK, "200"))
			require.Equal(t, 0, db.open(1))
			require.Equal(t, "delivered", value[string](db, `SELECT status FROM deliveries`))
			require.Equal(t, 0, value[int](db, `SELECT count(*) FROM dead_letters WHERE state <> 'resolved'`))
		})
	}
}

func TestALateFailureChangesNothing(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.destination(1, delivery.Destination{})
	db.queue(1, 1)
	first := db.lease(10, 10)[0]
	db.passes(1, time.Hour)
	second := db.lease(10, 10)
	require.Len(t, second, 1)
	late := became(first, delivery.Final, "422")
	late.Dead = true
	db.settle(late)
	require.Equal(t, 1, db.open(1))
	require.Empty(t, db.lease(10, 10))
	db.settle(became(second[0], delivery.OK, "200"))
	require.Equal(t, 0, db.open(1))
}

func TestTooManyLeasesMakeADeadLetter(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.destination(1, delivery.Destination{})
	id := db.queue(1, 1)[0]
	for tries := range 5 {
		jobs := db.lease(10, 10)
		require.Len(t, jobs, 1)
		require.Equal(t, tries, jobs[0].Tries)
		db.passes(1, time.Hour) // the process has died
	}
	require.Empty(t, db.lease(10, 10))
	require.Equal(t, 0, db.open(1))
	require.Equal(t, "lost_leases", value[string](db, `
SELECT error_code FROM dead_letters WHERE event_id = $1 AND subscription_id = 1`, id))
}

func TestNoMoreAreUnderWayThanMayBe(t *testing.T) {
	t.Parallel()
	db := open(t, func(c *persistence.Config) { c.MaxConns = 20 })
	db.destination(1, delivery.Destination{InFlight: 7})
	db.queue(1, 200)
	type leased struct {
		jobs []delivery.Job
		err  error
	}
	results := make(chan leased)
	for range 8 {
		go func() {
			for range 10 {
				jobs, _, err := db.Outbox.Lease(t.Context(), delivery.LeaseRequest{Limit: 5, Room: upTo(3)})
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
	under = append(under, db.lease(100, 100)...) // a lease leaves out a destination that another one works on
	require.Len(t, under, 7)
	require.Equal(t, 7, value[int](db, `SELECT count(*) FROM delivery_queue WHERE lease IS NOT NULL`))
	require.Empty(t, db.lease(100, 100))
	db.settle(each(under[:2], delivery.OK, "200")...)
	require.Len(t, db.lease(100, 100), 2, "an outcome makes room at once")
}

// Dispatchers come and go: never are more attempts in flight than allowed, all deliveries succeed, and none waits for the end of
// a lease.
func TestManyDispatchersWorkOffAQueueBeneathItsCap(t *testing.T) {
	t.Parallel()
	db := open(t, func(c *persistence.Config) { c.MaxConns = 20 })
	db.destination(1, delivery.Destination{InFlight: 3})
	db.destination(2, delivery.Destination{InFlight: 1})
	db.queue(1, 150)
	db.queue(2, 50)
	errs := make(chan error)
	for range 6 {
		go func() { errs <- workOff(t, db) }()
	}
	for range 6 {
		require.NoError(t, <-errs)
	}
	require.Equal(t, 200, value[int](db, `SELECT count(*) FROM deliveries WHERE status = 'delivered' AND attempts = 1`))
}

func workOff(t *testing.T, db *database) error {
	for {
		jobs, next, err := db.Outbox.Lease(t.Context(), delivery.LeaseRequest{Limit: 4, Room: upTo(2)})
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
		if _, err := db.Outbox.Settle(t.Context(), each(jobs, delivery.OK, "200")); err != nil {
			return err
		}
	}
}

// The command line sends again without dispatching: a dispatcher checks immediately, instead of finding the delivery by chance.
func TestResentEventsAreLookedForAtOnce(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.destination(1, delivery.Destination{})
	key := delivery.Key{EventID: db.queue(1, 1)[0], SubscriptionID: 1}
	db.settle(became(db.lease(10, 10)[0], delivery.OK, "200"))
	db.exec(`UPDATE destination_states SET next_at = 'infinity'`)
	_, err := db.another().Outbox.Resend(t.Context(), key, ada)
	require.NoError(t, err)
	require.Len(t, db.lease(10, 10), 1)
}

func TestASecondGenerationIsSentUnderANewID(t *testing.T) {
	t.Parallel()
	db := open(t)
	ctx := t.Context()
	db.destination(1, delivery.Destination{})
	key := delivery.Key{EventID: db.queue(1, 1)[0], SubscriptionID: 1}
	first := became(db.lease(10, 10)[0], delivery.Final, "422")
	first.Dead = true
	db.settle(first)

	d, err := db.Outbox.Resend(ctx, key, ada)
	require.NoError(t, err)
	require.Equal(t, delivery.Pending, d.Status)
	require.Equal(t, 1, d.Generation)
	require.Equal(t, "replaying", value[string](db, `SELECT state FROM dead_letters`))
	job := db.lease(10, 10)[0]
	require.Equal(t, job.Key.ID()+"-1", job.ID())
	_, err = db.Outbox.Resend(ctx, key, ada)
	require.Equal(t, "delivery_under_way", event.CodeOf(err))

	db.settle(became(first.Job, delivery.OK, "200")) // of the first generation, late
	require.Equal(t, 1, db.open(1))

	again := became(job, delivery.Final, "500")
	again.Dead = true
	db.settle(again)
	require.Equal(t, "open 2", value[string](db, `SELECT state || ' ' || failures FROM dead_letters`))

	_, err = db.Outbox.Resend(ctx, key, ada)
	require.NoError(t, err)
	job = db.lease(10, 10)[0]
	require.Equal(t, 2, job.Generation)
	db.settle(became(job, delivery.OK, "200"))
	require.Equal(t, "resolved", value[string](db, `SELECT state FROM dead_letters`))
	d, err = db.Outbox.Delivery(ctx, key)
	require.NoError(t, err)
	require.Equal(t, delivery.Delivered, d.Status)
	attempts, err := db.Outbox.AttemptsOf(ctx, key.EventID)
	require.NoError(t, err)
	require.Len(t, attempts, 3)
	for i, a := range attempts {
		require.Equal(t, i+1, a.Number, "the attempts of a delivery that is sent again go on counting")
	}

	_, err = db.Outbox.Resend(ctx, key, ada) // also a delivered one
	require.NoError(t, err)
	d, err = db.Outbox.CancelDelivery(ctx, key, ada)
	require.NoError(t, err)
	require.Equal(t, delivery.Canceled, d.Status)
	_, err = db.Outbox.CancelDelivery(ctx, key, ada)
	require.ErrorIs(t, err, event.ErrNotFound)
	late := delivery.Key{EventID: key.EventID, SubscriptionID: 2} // created after the event was processed
	db.destination(2, delivery.Destination{})
	_, err = db.Outbox.Resend(ctx, late, ada)
	require.NoError(t, err)
	db.settle(became(db.lease(10, 10)[0], delivery.OK, "200"))
	d, err = db.Outbox.Delivery(ctx, late)
	require.NoError(t, err)
	require.Equal(t, delivery.Delivered, d.Status)
	_, err = db.Outbox.Resend(ctx, delivery.Key{EventID: key.EventID, SubscriptionID: 9}, ada)
	require.ErrorIs(t, err, event.ErrNotFound)
	require.Equal(t, 4, value[int](db, `SELECT count(*) FROM audit_log WHERE object = $1`, "delivery:"+key.EventID+"/1"))
}

// A list shows why the last attempt failed and the response, and events are found by the status of a delivery.
func TestListsShowTheLastAttempt(t *testing.T) {
	t.Parallel()
	db := open(t)
	ctx := t.Context()
	db.destination(1, delivery.Destination{})
	id := db.queue(1, 1)[0]
	job := db.lease(10, 10)[0]
	first := became(job, delivery.Bad, "connection")
	first.Error, first.Answer = "connection refused", []byte("wait")
	db.settle(first)
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
	job = db.lease(10, 10)[0]
	last := became(job, delivery.Final, "connection")
	last.Error, last.Answer, last.Dead = "connection refused", []byte("wait"), true
	db.settle(last)
	shown(delivery.Failed)
}

func TestADestinationIsPausedAndResumed(t *testing.T) {
	t.Parallel()
	db := open(t)
	ctx := t.Context()
	db.destination(1, delivery.Destination{})
	id := db.queue(1, 10)[0]
	by := ada
	by.Reason = "maintenance"
	c, err := db.Subscriptions.SetDestinationState(ctx, "d1", delivery.DestinationPaused, by)
	require.NoError(t, err)
	require.Equal(t, "maintenance", c.Reason)
	require.EqualValues(t, 10, c.Waiting)
	require.Empty(t, db.lease(10, 10))
	of, err := db.Outbox.DeliveriesOf(ctx, id)
	require.NoError(t, err)
	require.Equal(t, "paused", of[0].Waits)

	_, err = db.Subscriptions.SetDestinationState(ctx, "1", delivery.DestinationReady, ada)
	require.NoError(t, err)
	require.Len(t, db.lease(10, 10), 10, "there is no slow start: the destination hasn't failed")
	_, err = db.Subscriptions.SetDestinationState(ctx, "nobody", delivery.DestinationReady, ada)
	require.ErrorIs(t, err, event.ErrNotFound)
	require.Equal(t, 2, value[int](db, `SELECT count(*) FROM audit_log WHERE object = 'destination:d1'`))
}

func TestAGoneDestinationIsDisabled(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.destination(1, delivery.Destination{})
	db.queue(1, 2)
	turns := db.settle(each(db.lease(10, 10), delivery.Gone, "410")...)
	require.Len(t, turns, 1)
	require.NotEmpty(t, turns[0].Disabled)
	require.Empty(t, db.lease(10, 10))
	require.Equal(t, 2, db.open(1))
	require.Equal(t, 1, value[int](db, `SELECT count(*) FROM audit_log WHERE action = 'destination.disable'`))
	_, err := db.Subscriptions.SetDestinationState(t.Context(), "d1", delivery.DestinationReady, ada)
	require.NoError(t, err)
	jobs := db.lease(10, 10)
	require.Len(t, jobs, 2)
	require.Equal(t, 0, jobs[0].Attempts)
}

func TestMessagesAreBounded(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.destination(1, delivery.Destination{})
	ids := db.queue(1, 4) // of 8 bytes each
	db.exec(`DELETE FROM events WHERE id = $1`, ids[1])
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
	db := open(t)
	ctx := t.Context()
	for id := range int64(3) {
		db.destination(id+1, delivery.Destination{})
		db.queue(id+1, 5)
	}
	for i, j := range db.lease(100, 100) {
		settled := became(j, delivery.OK, "200")
		if i%2 == 0 {
			settled.Kind, settled.Dead, settled.Code = delivery.Final, true, "422"
		}
		if i < 12 {
			db.settle(settled)
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
	db := open(t)
	db.destination(1, delivery.Destination{})
	db.destination(2, delivery.Destination{Keep: event.Duration(time.Hour)})
	db.queue(1, 2)
	db.queue(2, 2)
	n, err := db.Outbox.ExpireDeliveries(t.Context())
	require.NoError(t, err)
	require.Zero(t, n)
	db.exec(`
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
	db := open(t)
	db.destination(1, delivery.Destination{})
	db.destination(2, delivery.Destination{})
	db.destination(3, delivery.Destination{})
	for id := range int64(3) {
		db.queue(id+1, 2)
	}
	dead := became(db.lease(1, 1)[0], delivery.Final, "422")
	dead.Dead = true
	db.settle(dead)
	db.exec(`UPDATE subscriptions SET deleted_at = now() WHERE id = 1`)
	db.exec(`UPDATE destinations SET deleted_at = now() WHERE id = 2`)
	n, err := db.Outbox.CancelDeleted(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 3, n)
	require.Equal(t, 3, value[int](db, `SELECT count(*) FROM deliveries WHERE status = 'canceled' AND code = 'deleted'`))
	require.Equal(t, 2, db.open(3))
	require.Equal(t, 0, value[int](db, `SELECT count(*) FROM dead_letters WHERE state = 'open'`))
	require.Len(t, db.lease(10, 10), 2)
}

// A lease takes as much of each destination as the process has capacity for. Destinations without capacity keep their position.
func TestALeaseFillsTheFreeSlots(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.destination(1, delivery.Destination{})
	db.destination(2, delivery.Destination{})
	db.queue(1, 5)
	db.queue(2, 5)
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
	require.Equal(t, map[int64]int{1: 1}, of(delivery.LeaseRequest{Limit: 1, Room: upTo(5)}), "it has waited longest")
	room = map[int64]int{1: 1, 2: 1}
	require.Equal(t, map[int64]int{2: 1}, of(delivery.LeaseRequest{Limit: 10, Room: roomOf, Without: []int64{1}}))
	require.Equal(t, map[int64]int{1: 1}, of(delivery.LeaseRequest{Limit: 10, Room: roomOf, Only: []int64{1}}))
	require.Empty(t, of(delivery.LeaseRequest{Limit: 10, Room: roomOf, Only: []int64{}}))
	require.Equal(t, map[int64]int{1: 3, 2: 3}, of(delivery.LeaseRequest{Limit: 10}))
}

// A lease that checks few destinations, since the last one was filled by one, reports that there may be more immediately.
func TestALeaseThatLooksAtFewLooksAgain(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.destination(1, delivery.Destination{InFlight: 50})
	db.queue(1, 50)
	require.Len(t, db.lease(50, 50), 50)
	for id := range int64(20) {
		db.destination(id+2, delivery.Destination{})
		db.queue(id+2, 1)
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
	db := open(t)
	db.destination(1, delivery.Destination{})
	db.queue(1, 4)
	jobs := db.lease(10, 10)
	db.exec(`UPDATE delivery_queue SET due_at = now() - interval '1 s' WHERE event_id = $1`, jobs[0].EventID)
	db.exec(`UPDATE delivery_queue SET generation = 1 WHERE event_id = $1`, jobs[1].EventID)
	db.exec(`UPDATE delivery_queue SET attempts = 1 WHERE event_id = $1`, jobs[2].EventID)
	var all []delivery.Outcome
	for _, j := range jobs {
		all = append(all, delivery.Outcome{Job: j, Result: delivery.Result{Kind: delivery.OK, Code: "200", At: time.Now()}})
	}
	db.settle(all...)
	require.Equal(t, 1, db.open(1), "what is sent again is another delivery")
	require.Equal(t, 3, value[int](db, `SELECT count(*) FROM deliveries WHERE status = 'delivered' AND generation = 0`))
	require.Equal(t, 2, value[int](db, `SELECT attempts FROM deliveries WHERE event_id = $1`, jobs[2].EventID))
	db.settle(all...)
	require.Equal(t, 3, value[int](db, `SELECT count(*) FROM deliveries`))
}

// A success ends the failing state of a destination, also in a batch of successes only.
func TestAFirstSuccessEndsTrouble(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.destination(1, delivery.Destination{})
	db.queue(1, 1)
	jobs := db.lease(10, 10)
	db.exec(`UPDATE destination_states SET failures = 2, failing_since = now(), failure = 'x'`)
	db.settle(delivery.Outcome{Job: jobs[0], Result: delivery.Result{Kind: delivery.OK, Code: "200", At: time.Now()}})
	require.Equal(t, 1, value[int](db, `SELECT count(*) FROM destination_states WHERE failures = 0 AND failing_since IS NULL`))
	require.Equal(t, 0, db.open(1))
}

// An alert about failing deliveries must name the destination: of two failing ones, one has its breaker open.
func TestAFailingDestinationShowsItsBreaker(t *testing.T) {
	t.Parallel()
	db := open(t)
	for id := range int64(3) {
		db.destination(id+1, delivery.Destination{})
	}
	db.exec(`UPDATE destination_states SET failing_since = now() - interval '1 h', failure = 'x' WHERE destination_id = 1`)
	db.exec(`UPDATE destination_states SET failing_since = now(), failure = 'x', breaker = 'open' WHERE destination_id = 2`)
	stats, err := db.Outbox.DeliveryStats(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"d1", "d2"}, stats.Failing)
	require.Equal(t, map[string]delivery.BreakerState{"d1": delivery.BreakerClosed, "d2": delivery.BreakerOpen}, stats.FailingBreakers)
}

// Each open delivery of a destination is counted once: as pending, retrying or in flight, like in lists.
func TestCountsOfADestinationAgree(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.destination(1, delivery.Destination{InFlight: 3})
	ids := db.queue(1, 6)
	db.exec(`UPDATE delivery_queue SET queued_at = now() - interval '1 h', due_at = now() - interval '1 h' WHERE event_id = $1::uuid`, ids[0])
	require.NoError(t, db.Outbox.Rearm(t.Context()))
	jobs := db.lease(10, 10)
	require.Len(t, jobs, 3)
	require.Equal(t, ids[0], jobs[slices.IndexFunc(jobs, func(j delivery.Job) bool { return j.EventID == ids[0] })].EventID)
	failed := jobs[slices.IndexFunc(jobs, func(j delivery.Job) bool { return j.EventID != ids[0] })]
	settled := became(failed, delivery.Bad, "500")
	settled.DueAt = time.Now().Add(time.Hour)
	db.settle(settled)

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
