package persistence_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/operation"
)

// settled makes changes of subscriptions older than any transaction.
func (d *database) settled() {
	d.exec(`UPDATE subscriptions SET changed_at = now() - interval '1 hour'`)
}

func (d *database) createResend(id, subscription string, everything bool) {
	d.t.Helper()
	r, err := d.Resends.Create(d.t.Context(), operation.Resend{
		Base:         operation.Base{ID: id, Rate: 50},
		Subscription: subscription, Everything: everything, Since: time.Now().Add(-time.Hour),
		Until: time.Now().Add(time.Hour),
	}, ada)
	require.NoError(d.t, err)
	require.Equal(d.t, operation.Running, r.State)
	require.Equal(d.t, subscription, r.Subscription)
	require.WithinDuration(d.t, time.Now().Add(-time.Hour), r.Since, time.Minute)
	require.WithinDuration(d.t, time.Now(), r.Until, time.Minute, "not after now")
}

// resend runs a resend to its end, n events at a time.
func (d *database) resend(id string, n int) (r operation.Resend) {
	d.t.Helper()
	for pages := 0; ; pages++ {
		require.Less(d.t, pages, 1000)
		var err error
		r, err = d.Resends.Page(d.t.Context(), id, n)
		require.NoError(d.t, err)
		if r.State != operation.Running {
			return r
		}
	}
}

// deliver ends the pending deliveries.
func (d *database) deliver(status string) {
	d.exec(`
WITH ended AS (DELETE FROM delivery_queue RETURNING *)
INSERT INTO deliveries (event_id, subscription_id, destination_id, status, code, attempts, generation, ms, queued_at)
SELECT event_id, subscription_id, destination_id, $1, '200', 1, generation, 1, queued_at FROM ended
    ON CONFLICT (event_id, subscription_id) DO UPDATE SET generation = excluded.generation`, status)
}

// A subscription is created after its events:
//   - the plan shows what a resend would do, and changes nothing
//   - a resend queues the matching events, each once, even if it reads them again
//   - a second one finds no event without a delivery
//   - with Everything, all are sent again as a new generation, except open ones
func TestEventsAreSentThatWereThereBefore(t *testing.T) {
	t.Parallel()
	db := open(t)
	ctx := t.Context()
	for n := range 25 {
		r := receipt()
		if n%5 == 0 {
			r.Provider = "other"
		}
		db.mustProcess(r, parsed())
	}
	waiting := receipt()
	_, err := db.Writer.Write(ctx, event.RowOnly, waiting, body, parsed(), runOf(waiting))
	require.NoError(t, err)
	passed := receipt()
	db.mustProcess(passed, parsed())
	_, err = db.Upkeep.Expunge(ctx, passed.ID, 0, ada)
	require.NoError(t, err)
	s := db.subscribe("crm", delivery.Events{Providers: []string{"acme"}, Filter: `.body.id == "evt_1" and .body.data.n > 1`})
	db.settled()

	plan, err := db.Resends.Plan(ctx, "crm", time.Now().Add(-time.Hour), time.Time{}, 0)
	require.NoError(t, err)
	require.Equal(t, operation.ResendPlan{Events: 26, Matching: 20, Missing: 20}, plan)
	require.Zero(t, value[int](db, `SELECT count(*) FROM delivery_queue`))

	db.createResend("one", "crm", false)
	active, err := db.Resends.Active(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"one"}, active)
	done := db.resend("one", 7)
	require.Equal(t, operation.Completed, done.State)
	require.EqualValues(t, 25, done.Read)
	require.EqualValues(t, 20, done.Queued)
	require.NotNil(t, done.EndedAt)
	require.False(t, done.Reached.IsZero())
	require.Equal(t, 20, value[int](db, `SELECT count(*) FROM delivery_queue WHERE destination_id = $1 AND generation = 0`, s.DestinationID))
	require.NoError(t, db.UpsertEntities(ctx, waiting, parsed(), runOf(waiting)))
	require.Equal(t, []int64{s.ID}, db.queued(waiting), "what is processed later is routed as ever")

	open := value[string](db, `DELETE FROM delivery_queue WHERE event_id = $1::uuid RETURNING event_id::text`, waiting.ID)
	db.deliver("delivered")
	db.exec(`UPDATE deliveries SET status = 'failed' WHERE event_id = (SELECT max(event_id::text)::uuid FROM deliveries)`)
	db.exec(`INSERT INTO delivery_queue (event_id, subscription_id, destination_id) VALUES ($1::uuid, $2, $3)`, open, s.ID, s.DestinationID)
	plan, err = db.Resends.Plan(ctx, "crm", time.Now().Add(-time.Hour), time.Time{}, 0)
	require.NoError(t, err)
	require.Equal(t, operation.ResendPlan{Events: 26, Matching: 21, Delivered: 19, Failed: 1, Open: 1}, plan)
	db.createResend("two", "crm", false)
	require.Zero(t, db.resend("two", 10).Queued)

	db.createResend("three", "crm", true)
	require.EqualValues(t, 20, db.resend("three", 10).Queued)
	require.Equal(t, 20, value[int](db, `SELECT count(*) FROM delivery_queue WHERE generation = 1`))
	require.Equal(t, 1, value[int](db, `SELECT count(*) FROM delivery_queue WHERE generation = 0`), "what is open is left alone")
	db.deliver("delivered")
	db.createResend("four", "crm", true)
	db.resend("four", 500)
	require.Equal(t, 20, value[int](db, `SELECT count(*) FROM delivery_queue WHERE generation = 2`))
	all, err := db.Resends.Latest(ctx, 3)
	require.NoError(t, err)
	require.Len(t, all, 3)
	require.Equal(t, "four", all[0].ID)
}

// The dead letter of a delivery that is sent again waits for its outcome.
func TestADeadLetterWaitsForItsResend(t *testing.T) {
	t.Parallel()
	db := open(t)
	s := db.subscribe("crm", delivery.Events{Filter: `.body.id | tonumber`})
	r := receipt()
	db.mustProcess(r, parsed())
	db.apply(delivery.Subscription{Name: "crm", To: "crm", Active: true})
	db.settled()
	db.createResend("one", "crm", true)
	require.EqualValues(t, 1, db.resend("one", 10).Queued)
	require.Equal(t, []int64{s.ID}, db.queued(r))
	require.Equal(t, "replaying", value[string](db, `SELECT state FROM dead_letters WHERE event_id = $1::uuid`, r.ID))
}

// Operators pause, resume and cancel a resend; each subscription has one at a time.
func TestAResendIsAnOperation(t *testing.T) {
	t.Parallel()
	db := open(t)
	ctx := t.Context()
	db.mustProcess(receipt(), parsed())
	db.subscribe("crm", delivery.Events{})
	db.createResend("one", "crm", false)
	r, err := db.Resends.Page(ctx, "one", 10)
	require.NoError(t, err)
	require.Equal(t, operation.Running, r.State)
	require.Zero(t, r.Read, "a transaction may not have ended that knew nothing of the subscription")
	db.settled()
	_, err = db.Resends.Create(ctx, operation.Resend{Base: operation.Base{ID: "two", Rate: 1}, Subscription: "crm", Since: noon}, ada)
	require.Equal(t, "resend_runs", event.CodeOf(err))
	r, err = db.Resends.Change(ctx, "one", operation.Paused, ada)
	require.NoError(t, err)
	require.Equal(t, operation.Paused, r.State)
	r, err = db.Resends.Page(ctx, "one", 10)
	require.NoError(t, err)
	require.Zero(t, r.Read)
	_, err = db.Resends.Change(ctx, "one", operation.Running, ada)
	require.NoError(t, err)
	require.EqualValues(t, 1, db.resend("one", 10).Queued)
	_, err = db.Resends.Change(ctx, "one", operation.Paused, ada)
	require.Equal(t, "resend_ended", event.CodeOf(err))

	db.createResend("two", "crm", false)
	require.NoError(t, db.Resends.Cancel(ctx, "two"))
	require.Equal(t, operation.Canceled, db.resend("two", 1).State)
	db.createResend("three", "crm", false)
	require.NoError(t, second(db.Subscriptions.DeleteSubscription(ctx, "crm", ada)))
	require.Equal(t, operation.Canceled, db.resend("three", 1).State, "its subscription is gone")
	for code, wrong := range map[string]operation.Resend{
		"invalid_time": {Subscription: "crm", Since: time.Now().Add(time.Hour)},
	} {
		_, err = db.Resends.Create(ctx, wrong, ada)
		require.Equal(t, code, event.CodeOf(err))
	}
	_, err = db.Resends.Create(ctx, operation.Resend{Base: operation.Base{ID: "x", Rate: 1}, Subscription: "none", Since: noon}, ada)
	require.ErrorIs(t, err, event.ErrNotFound)
	_, err = db.Resends.Read(ctx, "none")
	require.ErrorIs(t, err, event.ErrNotFound)
	require.Equal(t, []string{"resend.start resend:three", "resend.start resend:two", "resend.resume resend:one", "resend.pause resend:one",
		"resend.start resend:one"}, slicesOf(db.audited(), "resend."))
}

func slicesOf(all []string, prefix string) (some []string) {
	for _, one := range all {
		if strings.HasPrefix(one, prefix) {
			some = append(some, one)
		}
	}
	return some
}

// A plan of more events than it may check takes a sample of the whole time range.
func TestAPlanOfManyEventsIsASample(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.exec(`
INSERT INTO events (id, provider, source, key, key_from, type, status, outcome, raw_body, headers, receipt, payload_note, occurred_at,
       occurred_at_missing, received_at, processed_at, workflow_id, run_id, request_id, correlation_id)
SELECT (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint - 30000 + i), 12, '0') || '70008000' || lpad(to_hex(i), 12, '0'))::uuid,
       CASE WHEN i % 4 = 0 THEN 'acme' ELSE 'other' END, '', i, 'event', 't', 'processed', 'processed', '', '{}',
       json_build_object('provider', CASE WHEN i % 4 = 0 THEN 'acme' ELSE 'other' END), '', now(), false, now(), now(), '', '', '', ''
  FROM generate_series(1, 25000) AS i`)
	s := db.subscribe("crm", delivery.Events{Providers: []string{"acme"}})
	db.exec(`
INSERT INTO deliveries (event_id, subscription_id, destination_id, status, code, attempts, generation, ms, queued_at)
SELECT id, $1, $2, 'delivered', '200', 1, 0, 1, now() FROM events WHERE provider = 'acme' AND key::int % 8 = 0`, s.ID, s.DestinationID)
	plan, err := db.Resends.Plan(t.Context(), "crm", time.Now().Add(-time.Hour), time.Time{}, 0)
	require.NoError(t, err)
	require.True(t, plan.Sampled)
	require.EqualValues(t, 25000, plan.Events)
	require.InDelta(t, 6250, plan.Matching, 100)
	require.InDelta(t, 3125, plan.Delivered, 100)
	require.InDelta(t, plan.Matching-plan.Delivered, plan.Missing, 2)
}

// An event from a list is sent to a subscription once:
//   - an event without a delivery is queued, also an imported one, and also if the subscription is inactive
//   - an event that has a delivery, open or ended, isn't sent again; neither is one that doesn't match or isn't processed
func TestAnEventIsSentIfItHasNoDelivery(t *testing.T) {
	t.Parallel()
	db := open(t)
	mine, other, imported := receipt(), receipt(), receipt()
	other.Provider = "other"
	for _, r := range []event.Receipt{mine, other, imported} {
		db.mustProcess(r, parsed())
	}
	db.exec(`UPDATE events SET run_id = '', receipt = (receipt::jsonb || '{"imported": {"id": "i"}}')::json WHERE id = $1::uuid`, imported.ID)
	s := db.subscribe("crm", delivery.Events{Providers: []string{"acme"}})
	db.exec(`UPDATE subscriptions SET active = false`)
	send := func(id string) bool {
		t.Helper()
		isSent, err := db.Resends.ResendMissing(t.Context(), delivery.Key{EventID: id, SubscriptionID: s.ID}, ada)
		require.NoError(t, err)
		return isSent
	}
	require.True(t, send(mine.ID))
	require.False(t, send(mine.ID), "it is queued")
	require.True(t, send(imported.ID))
	db.deliver("delivered")
	require.False(t, send(mine.ID), "it was delivered")
	require.False(t, send(imported.ID))
	require.False(t, send(other.ID), "it doesn't match")
	require.False(t, send(receipt().ID), "it isn't processed")
	require.Zero(t, value[int](db, `SELECT count(*) FROM delivery_queue`))
	_, err := db.Resends.ResendMissing(t.Context(), delivery.Key{EventID: mine.ID, SubscriptionID: s.ID + 1000}, ada)
	require.ErrorIs(t, err, event.ErrNotFound)
}

// A bounded plan reads only the newest events of the time range, and says that there are more.
func TestAPlanOfTheNewestEvents(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.subscribe("crm", delivery.Events{})
	var all []event.Receipt
	for range 5 {
		r := receipt()
		_, err := db.Writer.Write(t.Context(), event.WholeEvent, r, body, parsed(snapshot(r.ID, `{}`)), runOf(r))
		require.NoError(t, err)
		all = append(all, r)
	}
	db.exec(`DELETE FROM delivery_queue WHERE event_id = $1::uuid`, all[4].ID)
	plan := func(first int) operation.ResendPlan {
		p, err := db.Resends.Plan(t.Context(), "crm", time.Now().Add(-time.Hour), time.Time{}, first)
		require.NoError(t, err)
		return p
	}
	require.Equal(t, operation.ResendPlan{Events: 2, Matching: 2, Missing: 1, Open: 1, AtLeast: true}, plan(2))
	require.Equal(t, operation.ResendPlan{Events: 5, Matching: 5, Missing: 1, Open: 4}, plan(5))
	require.Equal(t, plan(0), plan(100))
}
