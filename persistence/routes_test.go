package persistence_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence"
	"holdfast/persistence/entities"
	"holdfast/persistence/writer"
)

// queued returns the subscriptions with pending deliveries of an event, by ID.
func (d *database) queued(r event.Receipt) []int64 {
	d.t.Helper()
	return value[[]int64](d, `
SELECT coalesce(array_agg(subscription_id ORDER BY subscription_id), '{}') FROM delivery_queue WHERE event_id = $1::uuid`, r.ID)
}

// However an event is processed, its deliveries are queued once:
//   - a retry, a reset, a redelivery and a corrected definition add none, and a rebuild adds none
//   - an ignored or unprocessed event has none
//   - the event that an operator's edit creates is a new one
func TestEveryLaneMakesDeliveriesOnce(t *testing.T) {
	t.Parallel()
	db := open(t)
	all := db.subscribe("all", delivery.Events{})
	ofBody := db.subscribe("body", delivery.Events{Types: []string{"thing.*"}, Filter: `.body.data.n == 1.1 and .event.key != ""`})
	db.subscribe("other", delivery.Events{Filter: `.body.data.n == 2`})
	db.subscribe("others", delivery.Events{Providers: []string{"nobody"}})
	inactive := db.subscribe("inactive", delivery.Events{})
	inactive.Active = false
	db.apply(inactive)
	want := []int64{all.ID, ofBody.ID}
	p := parsed(snapshot("1", `{"n":1}`))
	lanes := map[string]func(r event.Receipt){
		"in a group": func(r event.Receipt) { db.mustProcess(r, p) },
		"in two steps": func(r event.Receipt) {
			_, err := db.Writer.Write(t.Context(), event.RowOnly, r, body, p, runOf(r))
			require.NoError(t, err)
			require.Empty(t, db.queued(r), "it is not processed yet")
			require.NoError(t, db.UpsertEntities(t.Context(), r, p, runOf(r)))
		},
		"in a batch": func(r event.Receipt) {
			db.bulk(r)
			require.Equal(t, event.OutcomeProcessed, outcomes(db.batch(newBatchRun(), nil))[r.ID])
		},
		"edited": func(r event.Receipt) {
			r.Replaces = receipt().ID
			db.mustProcess(r, p)
		},
	}
	for name, lane := range lanes {
		for _, store := range []string{"cold", "warm"} {
			if store == "cold" {
				db.writeAs(entities.Config{}, writer.Config{})
			}
			r := receipt()
			lane(r)
			require.Equal(t, want, db.queued(r), "%s, %s", name, store)

			db.exec(`DELETE FROM delivery_queue`) // they were delivered
			db.mustProcess(r, p)
			require.NoError(t, db.UpsertEntities(t.Context(), r, p, anotherRun(r)))
			_, err := db.Writer.Write(t.Context(), event.WholeEvent, r, body, parsed(snapshot("2", `{"n":2}`)), anotherRun(r))
			require.NoError(t, err)
			again := sameKey(r, time.Minute)
			db.mustProcess(again, p)
			require.Empty(t, db.queued(r), name)
			require.Empty(t, db.queued(again), name)
		}
	}

	today := definition{}
	for _, id := range value[[]string](db, `SELECT array_agg(id::text) FROM events`) {
		today.reads(event.Receipt{ID: id}, snapshot("3", `{"n":3}`))
	}
	require.NotZero(t, db.rebuild("r", operation.RebuildFilter{}, false, 10, today.parse).Changed)
	require.Zero(t, value[int](db, `SELECT count(*) FROM delivery_queue`))

	ignored := receipt()
	_, err := db.Writer.Write(t.Context(), event.WholeEvent, ignored, body, event.Parsed{Type: "thing.changed", OccurredAt: noon, Outcome: event.OutcomeIgnored},
		runOf(ignored))
	require.NoError(t, err)
	require.Empty(t, db.queued(ignored))
}

// The deliveries of a failed event are queued when it is rescued.
func TestADeadEventIsDeliveredOnceItIsRescued(t *testing.T) {
	t.Parallel()
	db := open(t)
	s := db.subscribe("crm", delivery.Events{})
	r := receipt()
	db.record(deadLetter(r))
	require.Empty(t, db.queued(r))
	db.mustProcess(r, parsed())
	require.Equal(t, []int64{s.ID}, db.queued(r))
	require.Equal(t, "resolved", value[string](db, `SELECT state FROM dead_letters WHERE event_id = $1::uuid`, r.ID))
}

// A process that dies between its commit and the wake loses nothing: another one finds the due deliveries.
func TestDeliveriesOutliveTheProcessThatMadeThem(t *testing.T) {
	t.Parallel()
	db := open(t)
	s := db.subscribe("crm", delivery.Events{})
	db.exec(`UPDATE destination_states SET next_at = 'infinity'`)
	r := receipt()
	db.mustProcess(r, parsed())
	select {
	case <-db.Outbox.Wakes():
	case <-t.Context().Done():
	}
	db.Close()
	other := db.another()
	jobs, _, err := other.Outbox.Lease(t.Context(), delivery.LeaseRequest{Limit: 10})
	require.NoError(t, err)
	require.Empty(t, jobs)
	require.NoError(t, other.Outbox.Rearm(t.Context()))
	jobs, _, err = other.Outbox.Lease(t.Context(), delivery.LeaseRequest{Limit: 10})
	require.NoError(t, err)
	require.Len(t, jobs, 1)
	require.Equal(t, delivery.Key{EventID: r.ID, SubscriptionID: s.ID}, jobs[0].Key)
}

// A commit wakes the dispatcher of this process, and makes the destination due for all others.
func TestACommitWakesItsDestinations(t *testing.T) {
	t.Parallel()
	db := open(t)
	s := db.subscribe("crm", delivery.Events{})
	idle := db.subscribe("idle", delivery.Events{Types: []string{"never"}})
	db.exec(`UPDATE destination_states SET next_at = 'infinity'`)
	select {
	case <-db.Outbox.Wakes():
	default:
	}
	db.mustProcess(receipt(), parsed())
	select {
	case <-db.Outbox.Wakes():
	case <-t.Context().Done():
		require.Fail(t, "no dispatcher was woken")
	}
	jobs := db.lease(10, 10)
	require.Len(t, jobs, 1)
	require.Equal(t, s.ID, jobs[0].SubscriptionID)
	require.True(t, value[bool](db, `SELECT next_at = 'infinity' FROM destination_states WHERE destination_id = $1`, idle.DestinationID))
}

// Subscriptions change while an event is being processed: what counts is what has committed when its transaction looks.
func TestASubscriptionThatChangesUnderAnEvent(t *testing.T) {
	t.Parallel()
	for name, filter := range map[string]string{"by its facts": ``, "by its body": `.body.data.n > 1`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t, func(c *persistence.Config) { c.LockTimeout = time.Minute })
			gone := db.subscribe("gone", delivery.Events{})
			r, p := receipt(), parsed(snapshot("1", `{"n":1}`))
			_, err := db.Writer.Write(t.Context(), event.RowOnly, r, body, p, runOf(r))
			require.NoError(t, err)
			db.mustProcess(receipt(), p) // fills the cache
			holder := connect(t, db.url)
			_, err = holder.Exec(t.Context(), `SELECT pg_advisory_lock(hashtextextended(lower($1), 0))`, r.ID)
			require.NoError(t, err)
			done := make(chan error, 1)
			go func() { done <- db.UpsertEntities(t.Context(), r, p, runOf(r)) }()
			db.onBlock(holder)
			other := db.another()
			made := other.subscribe("made", delivery.Events{Filter: filter})
			require.NoError(t, second(other.Subscriptions.DeleteSubscription(t.Context(), "gone", ada)))
			require.NoError(t, holder.Close(t.Context()))
			require.NoError(t, <-done)
			require.Equal(t, []int64{made.ID}, db.queued(r), "and not %d", gone.ID)
		})
	}
}

// A change that the API has confirmed counts for every event received after that, in each process, under load.
func TestAConfirmedChangeCountsFromThenOn(t *testing.T) {
	t.Parallel()
	db := open(t)
	api := db.another()
	s := api.subscribe("crm", delivery.Events{})
	stop := make(chan struct{})
	var load errgroup.Group
	for range 3 {
		load.Go(func() error {
			for {
				select {
				case <-stop:
					return nil
				default:
				}
				r := receipt()
				if _, err := db.Writer.Write(t.Context(), event.WholeEvent, r, body, parsed(), runOf(r)); err != nil {
					return err
				}
			}
		})
	}
	for n := range 40 {
		s.Active = n%2 == 1
		s = api.apply(s)
		r := receipt()
		switch n % 3 {
		case 0:
			db.mustProcess(r, parsed())
		case 1:
			db.process(r, parsed())
		case 2:
			db.bulk(r)
			db.batch(newBatchRun(), nil)
		}
		want := []int64{}
		if s.Active {
			want = append(want, s.ID)
		}
		require.Equal(t, want, db.queued(r), "change %d", n)
	}
	close(stop)
	require.NoError(t, load.Wait())
}

// A failing filter only fails the delivery of its subscription: the event is processed, and the others get it.
func TestAFilterThatFailsIsADeadLetterOfItsDelivery(t *testing.T) {
	t.Parallel()
	db := open(t)
	broken := db.subscribe("broken", delivery.Events{Filter: `.body.id | tonumber > 1`})
	fine := db.subscribe("fine", delivery.Events{Filter: `.body.id == "evt_1"`})
	r := receipt()
	require.Equal(t, event.Persisted{Processed: true}, db.mustProcess(r, parsed()))
	require.Equal(t, []int64{fine.ID}, db.queued(r))
	require.Equal(t, "failed filter_error", value[string](db, `
SELECT status || ' ' || code FROM deliveries WHERE event_id = $1::uuid AND subscription_id = $2`, r.ID, broken.ID))
	require.Equal(t, "open deliver failed filter_error evt", value[string](db, `
SELECT concat_ws(' ', state, step, error_class, error_code, left(key, 3)) FROM dead_letters
 WHERE event_id = $1::uuid AND subscription_id = $2`, r.ID, broken.ID))
	require.Equal(t, event.StatusProcessed, db.status(r.ID))
	again, err := db.Outbox.Resend(t.Context(), delivery.Key{EventID: r.ID, SubscriptionID: broken.ID}, ada)
	require.NoError(t, err)
	require.Equal(t, delivery.Pending, again.Status)
}

// A row that this version can't read stops nothing: its subscription gets nothing, and is reported.
func TestASubscriptionThatCannotBeReadStopsNoEvent(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.subscribe("odd", delivery.Events{})
	fine := db.subscribe("fine", delivery.Events{})
	db.exec(`UPDATE subscriptions SET settings = '{"events": {"types": "all"}}', version = version + 10 WHERE name = 'odd'`)
	db.exec(`UPDATE destinations SET settings = '[]', version = version + 10 WHERE name = 'odd'`)
	db.exec(`UPDATE subscriptions_head SET version = version + 10`)
	r := receipt()
	db.mustProcess(r, parsed())
	require.Equal(t, []int64{fine.ID}, db.queued(r))
	names, err := db.Subscriptions.Unreadable(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"odd"}, names)
}

// A failover may have lost a change that this process has already used.
func TestEventsAreRoutedByTheCurrentVersion(t *testing.T) {
	t.Parallel()
	db := open(t)
	kept, lost := db.subscribe("kept", delivery.Events{}), db.subscribe("lost", delivery.Events{})
	r := receipt()
	db.mustProcess(r, parsed())
	require.Equal(t, []int64{kept.ID, lost.ID}, db.queued(r))
	db.exec(`DELETE FROM subscriptions WHERE id = $1`, lost.ID)
	db.exec(`UPDATE subscriptions_head SET version = 2`)
	next := receipt()
	db.mustProcess(next, parsed())
	require.Equal(t, []int64{kept.ID}, db.queued(next))
}

// many inserts subscriptions without the API.
func (d *database) many(n int, filter string) {
	d.t.Helper()
	d.subscribe("first", delivery.Events{Types: []string{"never"}})
	d.exec(`
INSERT INTO subscriptions (name, destination_id, settings, active, version)
SELECT 's' || i, (SELECT id FROM destinations), jsonb_build_object('events', jsonb_build_object('filter', replace($2, 'N', i::text))), true, 100
  FROM generate_series(1, $1::int) AS i`, n, filter)
	d.exec(`UPDATE subscriptions_head SET version = 100`)
}

// An event with very many subscriptions is written in pages, by any number of processes. A subscription deleted meanwhile gets
// nothing, and one to which a resend has delivered the event meanwhile gets no second delivery.
func TestAnEventThatManyWantIsFannedOut(t *testing.T) {
	t.Parallel()
	db := open(t)
	const n = 2500
	db.many(n, `.body.id == "evt_1"`)
	r := receipt()
	db.mustProcess(r, parsed())
	require.Empty(t, db.queued(r))
	require.Equal(t, n, value[int](db, `SELECT cardinality(subscription_ids) FROM delivery_fanouts WHERE event_id = $1::uuid`, r.ID))
	select {
	case <-db.Outbox.Wakes():
	case <-t.Context().Done():
		require.Fail(t, "no dispatcher was woken")
	}
	require.NoError(t, second(db.Subscriptions.DeleteSubscription(t.Context(), "s2400", ada)))
	resent := value[int64](db, `SELECT id FROM subscriptions WHERE name = 's1200'`)
	db.exec(`
INSERT INTO deliveries (event_id, subscription_id, destination_id, status, code, attempts, generation, ms, queued_at)
VALUES ($1::uuid, $2, 1, 'delivered', '200', 1, 0, 0, now())`, r.ID, resent)
	other := db.another()
	var workers errgroup.Group
	for _, d := range []*database{db, other, db} {
		workers.Go(func() error {
			for {
				if more, err := d.Subscriptions.FanOut(t.Context()); err != nil || !more {
					return err
				}
			}
		})
	}
	require.NoError(t, workers.Wait())
	for { // a process stops if another one has the row
		more, err := db.Subscriptions.FanOut(t.Context())
		require.NoError(t, err)
		if !more {
			break
		}
	}
	require.Len(t, db.queued(r), n-2)
	require.NotContains(t, db.queued(r), resent)
	require.Zero(t, value[int](db, `SELECT count(*) FROM delivery_fanouts`))
}

// Of 10,000 subscriptions those for the event's account get it, in each process and without another round trip.
func TestTenThousandSubscriptions(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.many(10_000, `.body.account == "aN"`)
	var mu sync.Mutex
	ids := map[string]int{}
	var load errgroup.Group
	for worker := range 4 {
		load.Go(func() error {
			for n := range 25 {
				account := 100*worker + n + 1
				r := receipt()
				text := fmt.Appendf(nil, `{"account": "a%d"}`, account)
				if _, err := db.Writer.Write(t.Context(), event.WholeEvent, r, text, parsed(), runOf(r)); err != nil {
					return err
				}
				mu.Lock()
				ids[r.ID] = account
				mu.Unlock()
			}
			return nil
		})
	}
	require.NoError(t, load.Wait())
	require.Equal(t, len(ids), value[int](db, `SELECT count(*) FROM delivery_queue`))
	for id, account := range ids {
		require.Equal(t, fmt.Sprint("s", account), value[string](db, `
SELECT s.name FROM delivery_queue AS q JOIN subscriptions AS s ON s.id = q.subscription_id WHERE q.event_id = $1::uuid`, id))
	}
}

// Deliveries cost no round trip, and neither do subscriptions that an event doesn't match.
func TestDeliveriesCostNoRoundTrip(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.subscribe("all", delivery.Events{})
	db.subscribe("broken", delivery.Events{Filter: `.body.id | tonumber`})
	wire := &wiretap{server: db.url}
	store, err := persistence.Open(t.Context(), persistence.Config{URL: wire.listen(t), MaxConns: 1})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	once := func() {
		r := receipt()
		_, err := store.Writer.Write(t.Context(), event.WholeEvent, r, body, parsed(), runOf(r))
		require.NoError(t, err)
	}
	once() // reads the subscriptions, and prepares the statements
	before := wire.trips.Load()
	once()
	require.EqualValues(t, 2, wire.trips.Load()-before)
	require.Equal(t, 2, value[int](db, `SELECT count(*) FROM delivery_queue`))
	require.Equal(t, 2, value[int](db, `SELECT count(*) FROM deliveries`))
}

// From a provider's request to the end of its delivery, with the steps of a dispatcher.
func TestADeliveryFromItsEventToItsEnd(t *testing.T) {
	t.Parallel()
	db := open(t)
	ctx := t.Context()
	s := db.subscribe("crm", delivery.Events{Filter: `.body.id == "evt_1"`})
	r, p := receipt(), parsed(snapshot("1", `{"n":1}`))
	db.mustProcess(r, p)
	jobs, _, err := db.Outbox.Lease(ctx, delivery.LeaseRequest{Limit: 10})
	require.NoError(t, err)
	require.Len(t, jobs, 1)
	target, err := db.Subscriptions.Target(ctx, jobs[0].SubscriptionID)
	require.NoError(t, err)
	require.Equal(t, s, target.Subscription)
	messages, _, err := db.Subscriptions.Messages(ctx, []string{jobs[0].EventID}, 1<<20)
	require.NoError(t, err)
	require.Equal(t, body, messages[r.ID].Body)
	_, err = db.Outbox.Settle(ctx, []delivery.Outcome{{Job: jobs[0], Result: delivery.Result{Code: "200", At: time.Now()}}})
	require.NoError(t, err)
	db.mustProcess(r, p)
	of, err := db.Outbox.DeliveriesOf(ctx, r.ID)
	require.NoError(t, err)
	require.Len(t, of, 1)
	require.Equal(t, delivery.Delivered, of[0].Status)

	db.settled()
	db.createResend("again", "crm", true)
	require.EqualValues(t, 1, db.resend("again", 10).Queued)
	jobs, _, err = db.Outbox.Lease(ctx, delivery.LeaseRequest{Limit: 10})
	require.NoError(t, err)
	require.Len(t, jobs, 1, "a resend wakes its destination")
	require.Equal(t, jobs[0].Key.ID()+"-1", jobs[0].ID())
}

// Two subscriptions of one destination send different bodies, so each delivery has its own ID, the same in each attempt. A
// delivery queued by the previous release keeps the ID of its event, and one that is sent again has a new one.
func TestADeliveryHasAnIDOfItsOwn(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.subscribe("one", delivery.Events{})
	db.subscribe("two", delivery.Events{})
	r := receipt()
	db.mustProcess(r, parsed())
	jobs := db.lease(10, 10)
	require.Len(t, jobs, 2)
	require.NotEqual(t, jobs[0].ID(), jobs[1].ID())
	for _, j := range jobs {
		require.Equal(t, j.Key.ID(), j.ID())
		require.EqualValues(t, 5, uuid.MustParse(j.ID()).Version())
	}
	db.settle(each(jobs, delivery.OK, "200")...)
	_, err := db.Outbox.Resend(t.Context(), jobs[0].Key, ada)
	require.NoError(t, err)
	require.Equal(t, jobs[0].Key.ID()+"-1", db.lease(10, 10)[0].ID())

	before := db.queue(db.destination(100, delivery.Destination{}), 1)
	require.Equal(t, before[0], db.lease(10, 10)[0].ID())
}
