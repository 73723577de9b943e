package outbox_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/persistence/persistencetest"
)

// ordered is a destination with deliveries of keys.
type ordered struct {
	*persistencetest.Database
}

func newOrdered(t *testing.T) ordered {
	db := persistencetest.Open(t)
	db.Destination(1, delivery.Destination{})
	return ordered{db}
}

// queue queues a delivery of each key, all in one transaction, like the writer.
func (o ordered) queue(keys ...string) []string {
	o.T.Helper()
	ids := o.Queue(1, len(keys))
	o.Exec(`
UPDATE delivery_queue AS q
   SET due_at = 'infinity', order_key = '1:' || hit.order_key, order_state = 'new', order_xid = pg_current_xact_id(),
       order_place = hit.n
  FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS hit (id, order_key, n) WHERE q.event_id = hit.id`, ids, keys)
	return ids
}

// sort sorts everything. Transactions of other tests, in the same cluster, delay it.
func (o ordered) sort() {
	o.T.Helper()
	for end, more := time.Now().Add(time.Minute), true; more; {
		var err error
		more, err = o.Outbox.SortOrdered(o.T.Context())
		require.NoError(o.T, err)
		require.True(o.T, time.Now().Before(end), "the sorter doesn't end")
	}
}

// attempts returns the IDs of the events that may be attempted now, with their jobs.
func (o ordered) attempts() (jobs []delivery.Job, ids []string) {
	o.T.Helper()
	o.sort()
	jobs = o.Lease(100, 100)
	for _, j := range jobs {
		require.True(o.T, j.IsOrdered)
		ids = append(ids, j.EventID)
	}
	slices.Sort(ids)
	return jobs, ids
}

func (o ordered) deliver(jobs []delivery.Job) {
	o.Settle(persistencetest.Each(jobs, delivery.OK, "200")...)
}

func (o ordered) show(id string) delivery.Delivery {
	o.T.Helper()
	d, err := o.Outbox.Delivery(o.T.Context(), delivery.Key{EventID: id, SubscriptionID: 1})
	require.NoError(o.T, err)
	return d
}

func key(id string) delivery.Key { return delivery.Key{EventID: id, SubscriptionID: 1} }

func TestDeliveriesOfAKeyGoOutOneAfterTheOther(t *testing.T) {
	t.Parallel()
	o := newOrdered(t)
	first := o.queue("a", "b", "a")
	second := o.queue("a")
	require.Equal(t, "unsorted", o.show(first[0]).Waits)
	require.Empty(t, o.Lease(10, 10), "nothing is due before it is sorted")

	jobs, ids := o.attempts()
	require.Equal(t, first[:2], ids)
	require.Equal(t, "order", o.show(first[2]).Waits)
	require.Equal(t, "a", o.show(first[2]).OrderKey)
	require.Nil(t, o.show(first[2]).DueAt)

	o.deliver(jobs)
	jobs, ids = o.attempts()
	require.Equal(t, first[2:], ids)
	o.deliver(jobs)
	third := o.queue("b", "a")
	jobs, ids = o.attempts()
	require.Equal(t, []string{second[0], third[0]}, ids)
	o.deliver(jobs)
	jobs, ids = o.attempts()
	require.Equal(t, third[1:], ids)
	o.deliver(jobs)
	require.Equal(t, 0, o.Waiting(1))
	o.sort()
	require.Equal(t, 0, persistencetest.Value[int](o.Database, `SELECT count(*) FROM delivery_order_freed`))
}

// A transaction that began earlier may still queue a delivery that comes first.
func TestDeliveriesWaitForEarlierTransactions(t *testing.T) {
	t.Parallel()
	o := newOrdered(t)
	slow, err := pgx.Connect(t.Context(), o.URL)
	require.NoError(t, err)
	defer slow.Close(t.Context())
	tx, err := slow.Begin(t.Context())
	require.NoError(t, err)
	early := o.Queue(1, 1)
	_, err = tx.Exec(t.Context(), `UPDATE delivery_queue SET due_at = 'infinity', order_key = '1:a', order_state = 'new',
       order_xid = pg_current_xact_id(), order_place = 1 WHERE event_id = $1`, early[0])
	require.NoError(t, err)
	late := o.queue("a", "b")
	for range 5 {
		more, err := o.Outbox.SortOrdered(t.Context())
		require.NoError(t, err)
		require.True(t, more)
	}
	require.Equal(t, "unsorted", o.show(late[0]).Waits)
	require.Equal(t, "unsorted", o.show(late[1]).Waits, "the key of what it will queue is unknown")
	l, err := o.Outbox.OrderBacklog(t.Context())
	require.NoError(t, err)
	require.Positive(t, l.OldestUnsorted)

	require.NoError(t, tx.Commit(t.Context()))
	_, ids := o.attempts()
	require.Equal(t, []string{early[0], late[1]}, ids)
}

func TestAFailingHeadBlocksItsKeyOnly(t *testing.T) {
	t.Parallel()
	o := newOrdered(t)
	ids := o.queue("a", "a", "b", "b")
	jobs, _ := o.attempts()
	settled := persistencetest.Each(jobs, delivery.OK, "200")
	for i, s := range settled {
		if s.EventID == ids[0] {
			settled[i] = persistencetest.Became(s.Job, delivery.Missing, "404")
			settled[i].DueAt = time.Now().Add(time.Hour)
		}
	}
	o.Settle(settled...)
	jobs, out := o.attempts()
	require.Equal(t, ids[3:], out)
	o.deliver(jobs)

	all, err := o.Outbox.Ordered(t.Context(), 1, "", 10)
	require.NoError(t, err)
	require.Len(t, all.Heads, 1)
	head := all.Heads[0]
	require.Equal(t, []any{"a", ids[0], delivery.Retrying, "404", 1, 1},
		[]any{head.OrderKey, head.EventID, head.Status, head.Code, head.Attempts, head.Waiting})
	require.Equal(t, []int{1, 1, 0}, []int{all.Keys, all.Waiting, all.Unsorted})
	require.WithinDuration(t, time.Now(), head.Since, time.Minute)

	o.Passes(1, time.Hour)
	jobs, out = o.attempts()
	require.Equal(t, ids[:1], out, "the retry comes before what waits")
	dead := persistencetest.Became(jobs[0], delivery.Bad, "500")
	dead.Dead = true
	o.Settle(dead)
	_, out = o.attempts()
	require.Equal(t, ids[1:2], out, "a dead letter releases the key")
}

func TestOperatorsSkipPauseAndCancelAHead(t *testing.T) {
	t.Parallel()
	o := newOrdered(t)
	ids := o.queue("a", "a", "a")
	o.sort()
	ctx := t.Context()
	_, err := o.Outbox.SkipHead(ctx, key(ids[1]), persistencetest.Ada)
	require.ErrorContains(t, err, "behind another one")
	_, err = o.Outbox.Resend(ctx, key(ids[1]), persistencetest.Ada)
	require.ErrorContains(t, err, "behind another one")
	require.NoError(t, o.Outbox.Redeliver(ctx, ids[1], 1))

	paused, err := o.Outbox.PauseHead(ctx, key(ids[0]), persistencetest.Ada)
	require.NoError(t, err)
	require.Equal(t, "key_paused", paused.Waits)
	require.Nil(t, paused.DueAt)
	_, out := o.attempts()
	require.Empty(t, out)
	resumed, err := o.Outbox.ResumeHead(ctx, key(ids[0]), persistencetest.Ada)
	require.NoError(t, err)
	require.Equal(t, "due", resumed.Waits)

	o.Exec(`UPDATE delivery_queue SET queued_at = now() - interval '3 d' WHERE event_id = $1`, ids[0])
	_, err = o.Outbox.SkipHead(ctx, key(ids[0]), persistencetest.Ada)
	require.NoError(t, err)
	l, err := o.Outbox.OrderBacklog(ctx)
	require.NoError(t, err)
	require.Less(t, l.OldestUnsorted, time.Hour, "it has waited for earlier transactions only since it was skipped")
	jobs, out := o.attempts()
	require.Equal(t, ids[1:2], out)
	_, err = o.Outbox.SkipHead(ctx, key(ids[1]), persistencetest.Ada)
	require.ErrorContains(t, err, "under way")
	o.deliver(jobs)
	o.sort()
	_, err = o.Outbox.CancelDelivery(ctx, key(ids[2]), persistencetest.Ada)
	require.NoError(t, err)
	_, out = o.attempts()
	require.Equal(t, ids[:1], out, "the skipped one is the last")
	require.Equal(t, 4, persistencetest.Value[int](o.Database, `SELECT count(*) FROM audit_log`))

	plain := o.Queue(1, 1)
	_, err = o.Outbox.PauseHead(ctx, key(plain[0]), persistencetest.Ada)
	require.ErrorContains(t, err, "no order")
	_, err = o.Outbox.PauseHead(ctx, key(uuid.NewString()), persistencetest.Ada)
	require.ErrorIs(t, err, event.ErrNotFound)
}

// A paused head has failed before, and is no probe of a failing destination.
func TestAPausedHeadIsNoProbe(t *testing.T) {
	t.Parallel()
	o := newOrdered(t)
	ids := o.queue("a", "b")
	jobs, _ := o.attempts()
	for i := range jobs {
		failed := persistencetest.Became(jobs[i], delivery.Bad, "500")
		failed.DueAt = time.Now().Add(time.Hour)
		o.Settle(failed)
	}
	_, err := o.Outbox.PauseHead(t.Context(), key(ids[0]), persistencetest.Ada)
	require.NoError(t, err)
	o.Exec(`UPDATE destination_states SET probe_at = now(), next_at = now()`)
	probes := o.Lease(10, 10)
	require.Len(t, probes, 1)
	require.Equal(t, ids[1], probes[0].EventID)
	o.Settle(persistencetest.Became(probes[0], delivery.OK, "200"))
	_, out := o.attempts()
	require.Empty(t, out, "recovery of the destination leaves it paused")
}

// A probe of a destination attempts heads only: neither what waits behind one, nor a paused one, nor what isn't sorted.
func TestAProbeKeepsTheOrder(t *testing.T) {
	t.Parallel()
	o := newOrdered(t)
	probe := func() (ids []string) {
		_, err := o.Subscriptions.ProbeDestination(t.Context(), "d1", persistencetest.Ada)
		require.NoError(t, err)
		for _, j := range o.Lease(10, 10) {
			ids = append(ids, j.EventID)
		}
		return ids
	}
	ids := o.queue("a", "a")
	require.Empty(t, probe(), "it isn't sorted")
	jobs, out := o.attempts()
	require.Equal(t, ids[:1], out)
	require.Empty(t, probe(), "it waits behind the one in flight")

	failed := persistencetest.Became(jobs[0], delivery.Bad, "500")
	failed.DueAt = time.Now().Add(time.Hour)
	o.Settle(failed)
	require.Equal(t, ids[:1], probe())
	o.Settle(persistencetest.Became(jobs[0], delivery.OK, "200"))
	o.sort()
	_, err := o.Outbox.PauseHead(t.Context(), key(ids[1]), persistencetest.Ada)
	require.NoError(t, err)
	require.Empty(t, probe(), "its key is paused")
}

// Each statement that ends deliveries lets the next one follow, also the ones for whole queries, and a DELETE by hand.
func TestEveryEndOfAHeadLetsTheNextFollow(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(o ordered, head string){
		"cancel many": func(o ordered, head string) {
			n, err := o.Outbox.CancelWaiting(o.T.Context(), delivery.Query{EventID: head}, 10, persistencetest.Ada)
			require.NoError(o.T, err)
			require.EqualValues(o.T, 1, n)
		},
		"expire": func(o ordered, head string) {
			old := event.FirstIDAt(time.Now().Add(-100 * 24 * time.Hour))
			o.Exec(`UPDATE delivery_queue SET event_id = $2, queued_at = now() - interval '90 d' WHERE event_id = $1`, head, old)
			n, err := o.Outbox.ExpireDeliveries(o.T.Context())
			require.NoError(o.T, err)
			require.EqualValues(o.T, 1, n)
		},
		"by hand": func(o ordered, head string) { o.Exec(`DELETE FROM delivery_queue WHERE event_id = $1`, head) },
		"lost leases": func(o ordered, head string) {
			o.Exec(`UPDATE delivery_queue SET leases = 9 WHERE event_id = $1`, head)
			require.Empty(o.T, o.Lease(10, 10))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOrdered(t)
			ids := o.queue("a", "a")
			o.sort()
			end(o, ids[0])
			_, out := o.attempts()
			require.Equal(t, ids[1:], out)
		})
	}
}

// A head can end without its trigger, for example in a repair with session_replication_role = replica. Its key is found.
func TestAKeyWithoutAHeadIsFound(t *testing.T) {
	t.Parallel()
	o := newOrdered(t)
	ids := o.queue("a", "a", "b", "b", "c")
	jobs, _ := o.attempts()
	o.Exec(`ALTER TABLE delivery_queue DISABLE TRIGGER delivery_queue_frees_key`)
	o.Exec(`DELETE FROM delivery_queue WHERE event_id = $1`, ids[0])
	o.Exec(`ALTER TABLE delivery_queue ENABLE TRIGGER delivery_queue_frees_key`)
	_, out := o.attempts()
	require.Empty(t, out)
	for range 2 { // the second time from the beginning
		more, err := o.Outbox.FreeHeadless(t.Context())
		require.NoError(t, err)
		require.False(t, more)
		require.Len(t, o.Outbox.Sorts(), 1)
	}
	require.Equal(t, []string{"1:a"},
		persistencetest.Value[[]string](o.Database, `SELECT array_agg(DISTINCT order_key) FROM delivery_order_freed`))
	_, out = o.attempts()
	require.Equal(t, ids[1:2], out)
	for _, j := range jobs {
		if j.EventID != ids[0] {
			o.deliver([]delivery.Job{j})
		}
	}
	_, out = o.attempts()
	require.Equal(t, ids[3:4], out)
}

// Where the database was restored from a dump, transaction IDs begin again.
func TestDeliveriesOfARestoredDumpComeFirst(t *testing.T) {
	t.Parallel()
	o := newOrdered(t)
	restored := o.queue("a", "a")
	o.Exec(`UPDATE delivery_queue SET order_xid = '4000000000000'`)
	later := o.queue("a")
	for _, want := range append(restored, later...) {
		jobs, out := o.attempts()
		require.Equal(t, []string{want}, out)
		o.deliver(jobs)
	}
}

// Deliveries that were queued while no worker ran may be many. They are adopted in parts, in order, before others are sorted.
func TestManyRestoredDeliveriesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	o := newOrdered(t)
	o.Exec(`
INSERT INTO delivery_queue (
       event_id, subscription_id, destination_id, due_at, order_key, order_state, order_xid, order_place, generation)
SELECT gen_random_uuid(), 1, 1, 'infinity', '1:a', 'new', (4000000000000 + n)::text::xid8, 1, n
  FROM generate_series(6000, 1, -1) AS n`)
	last := o.queue("a")
	o.sort()
	require.Equal(t, 6001, o.Waiting(1))
	require.Equal(t, "6000 1", persistencetest.Value[string](o.Database, `
SELECT count(*) || ' ' || count(DISTINCT generation - order_place) FROM delivery_queue
 WHERE order_key = '1:a' AND generation > 0`))
	require.Equal(t, last[0], persistencetest.Value[string](o.Database,
		`SELECT event_id::text FROM delivery_queue WHERE order_state = 'waiting' ORDER BY order_place DESC LIMIT 1`))
}

// What waits behind one head costs neither a lease nor the sorter anything.
func TestWaitingDeliveriesAreNotRead(t *testing.T) {
	t.Parallel()
	o := newOrdered(t)
	o.Exec(`
INSERT INTO delivery_queue (event_id, subscription_id, destination_id, due_at, order_key, order_state, order_place)
SELECT gen_random_uuid(), 1, 1, 'infinity', '1:a', 'waiting', n FROM generate_series(1, 20000) AS n`)
	id := o.Queue(1, 1)[0]
	o.Exec(`UPDATE delivery_queue SET order_key = '1:a', order_state = 'head', head_since = now() WHERE event_id = $1`, id)
	o.Exec(`ANALYZE delivery_queue`)
	o.Exec(`SELECT pg_stat_reset()`)
	for range 20 {
		jobs, out := o.attempts()
		require.Len(t, out, 1)
		o.deliver(jobs)
	}
	o.Close() // sessions publish their counts at the end
	require.Eventually(t, func() bool {
		return persistencetest.Value[int](o.Database, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
		   AND backend_type = 'client backend' AND pid <> pg_backend_pid()`) == 0
	}, time.Minute, 10*time.Millisecond)
	rows := persistencetest.Value[int](o.Database, `
SELECT sum(idx_tup_read)::bigint + (SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'delivery_queue')
  FROM pg_stat_user_indexes WHERE relname = 'delivery_queue'`)
	require.Greater(t, rows, 20)
	require.Less(t, rows, 20*100)
}

func TestTheCountsOfALongKeyAreBounded(t *testing.T) {
	t.Parallel()
	o := newOrdered(t)
	ids := o.queue(strings.Split(strings.Repeat("a ", 1500), " ")[:1500]...)
	o.sort()
	all, err := o.Outbox.Ordered(t.Context(), 1, "a", 10)
	require.NoError(t, err)
	require.Equal(t, ids[0], all.Heads[0].EventID)
	require.Equal(t, 1499, all.Heads[0].Waiting)
	none, err := o.Outbox.Ordered(t.Context(), 1, "b", 10)
	require.NoError(t, err)
	require.Empty(t, none.Heads)
}

// An operator looks for the value that the event has, not for the hash that a long one is stored as.
func TestAKeyIsFoundByItsValue(t *testing.T) {
	t.Parallel()
	o := newOrdered(t)
	for _, value := range []string{strings.Repeat("k", delivery.MaxOrderKey+1), "a\x00b"} {
		stored, err := delivery.OrderKey(value)
		require.NoError(t, err)
		ids := o.queue(stored)
		o.sort()
		for _, key := range []string{value, stored} {
			found, err := o.Outbox.Ordered(t.Context(), 1, key, 10)
			require.NoError(t, err)
			require.Len(t, found.Heads, 1)
			require.Equal(t, ids[0], found.Heads[0].EventID)
		}
	}
}
