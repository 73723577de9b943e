package persistence_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/feed"
)

// orderModel is a subscription with an order as simply as possible: each key has a list, whose first delivery may be attempted.
type orderModel struct {
	*database

	t       *rapid.T
	name    string
	sub     delivery.Subscription
	keys    map[string][]string // open deliveries by key, in order; a list's first paused or retrying one blocks it
	paused  map[string]bool
	slow    pgx.Tx   // an open transaction; nil if there is none
	behind  []string // keys of what was queued since it began, in order
	ids     []string // the deliveries of behind
	attempt []delivery.Job
	ended   []string
}

func newOrderModel(t *rapid.T, db *database, n int) *orderModel {
	m := &orderModel{database: db, t: t, name: fmt.Sprintf("o%d", n), keys: map[string][]string{}, paused: map[string]bool{}}
	_, err := db.Subscriptions.ApplyDestination(db.t.Context(), delivery.Destination{
		Name: m.name, HTTP: &delivery.HTTP{URL: "https://crm.example.com"}, InFlight: 100, Breaker: delivery.Breaker{Failures: 1000},
	}, nil, admin)
	require.NoError(t, err)
	m.sub, err = db.Subscriptions.ApplySubscription(db.t.Context(), delivery.Subscription{
		Name: m.name, To: m.name, Events: delivery.Events{Types: []string{m.name + ".*"}}, Active: true, OrderBy: ".event.type",
	}, ada)
	require.NoError(t, err)
	return m
}

// append adds a delivery to the end of its key, after those that wait for an older transaction.
func (m *orderModel) append(key, id string) {
	if m.slow != nil {
		m.behind, m.ids = append(m.behind, key), append(m.ids, id)
		return
	}
	m.keys[key] = append(m.keys[key], id)
}

func (m *orderModel) process() {
	r, p := receipt(), parsed()
	key := fmt.Sprintf("%s.%d", m.name, rapid.IntRange(1, 3).Draw(m.t, "key"))
	r.Type, p.Type = key, key
	m.mustProcess(r, p)
	m.append(key, r.ID)
}

func (m *orderModel) begin(conn *pgx.Conn) {
	if m.slow != nil {
		m.t.Skip("one is open")
	}
	var err error
	m.slow, err = conn.Begin(m.database.t.Context())
	require.NoError(m.t, err)
	require.NoError(m.t, second(m.slow.Exec(m.database.t.Context(), `SELECT pg_current_xact_id()`)))
}

func (m *orderModel) end() {
	if m.slow == nil {
		return
	}
	require.NoError(m.t, m.slow.Rollback(m.database.t.Context()))
	m.slow = nil
	for i, key := range m.behind {
		m.append(key, m.ids[i])
	}
	m.behind, m.ids = nil, nil
}

// sort sorts what can be sorted. Transactions of other tests only delay it.
func (m *orderModel) sort() {
	const left = `SELECT EXISTS (SELECT FROM delivery_order_freed)
	           OR EXISTS (SELECT FROM delivery_queue
	                       WHERE order_state = 'new' AND subscription_id = $1 AND event_id <> ALL ($2::uuid[]))`
	for end := time.Now().Add(time.Minute); value[bool](m.database, left, m.sub.ID, append([]string{}, m.ids...)); {
		_, err := m.Outbox.SortOrdered(m.database.t.Context())
		require.NoError(m.t, err)
		require.True(m.t, time.Now().Before(end), "the sorter doesn't end")
	}
}

func (m *orderModel) isInFlight(id string) bool {
	return slices.ContainsFunc(m.attempt, func(j delivery.Job) bool { return j.EventID == id })
}

// lease leases everything that is due: the first delivery of each key that isn't paused, in flight, or due later.
func (m *orderModel) lease() {
	m.sort()
	jobs, _, err := m.Outbox.Lease(m.database.t.Context(), delivery.LeaseRequest{Limit: 100, Only: []int64{m.sub.DestinationID}})
	require.NoError(m.t, err)
	m.attempt = append(m.attempt, jobs...)
	for key, all := range m.keys {
		switch {
		case len(all) == 0:
		case m.paused[key]:
			require.False(m.t, m.isInFlight(all[0]))
		default:
			require.True(m.t, m.isInFlight(all[0]), "the first one of a key is attempted at once")
		}
		for _, id := range all[min(1, len(all)):] {
			require.False(m.t, m.isInFlight(id), "only the first one of a key is attempted")
		}
	}
	for _, id := range m.ids {
		require.False(m.t, m.isInFlight(id), "it waits for an older transaction")
	}
}

func (m *orderModel) finish(kind delivery.Kind, isDead bool) {
	if len(m.attempt) == 0 {
		m.t.Skip("nothing is in flight")
	}
	j := m.attempt[0]
	m.attempt = m.attempt[1:]
	o := became(j, kind, "x")
	o.Dead, o.DueAt = isDead, time.Now()
	_, err := m.Outbox.Settle(m.database.t.Context(), []delivery.Outcome{o})
	require.NoError(m.t, err)
	if isDead || kind == delivery.OK {
		m.remove(j.EventID)
	}
}

func (m *orderModel) remove(id string) {
	for key, all := range m.keys {
		m.keys[key] = slices.DeleteFunc(all, func(one string) bool { return one == id })
		if len(m.keys[key]) != len(all) {
			delete(m.paused, key)
			m.ended = append(m.ended, id)
		}
	}
}

// head draws a key whose first delivery is sorted and not in flight.
func (m *orderModel) head() (key string, k delivery.Key) {
	m.sort()
	var keys []string
	for key, all := range m.keys {
		if len(all) > 0 && !m.isInFlight(all[0]) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		m.t.Skip("no key has a head")
	}
	slices.Sort(keys)
	key = rapid.SampledFrom(keys).Draw(m.t, "key")
	return key, delivery.Key{EventID: m.keys[key][0], SubscriptionID: m.sub.ID}
}

func (m *orderModel) skip() {
	key, k := m.head()
	_, err := m.Outbox.SkipHead(m.database.t.Context(), k, ada)
	require.NoError(m.t, err)
	m.keys[key] = m.keys[key][1:]
	delete(m.paused, key)
	m.append(key, k.EventID)
}

func (m *orderModel) pause() {
	key, k := m.head()
	if m.paused[key] {
		m.t.Skip("paused")
	}
	_, err := m.Outbox.PauseHead(m.database.t.Context(), k, ada)
	require.NoError(m.t, err)
	m.paused[key] = true
}

func (m *orderModel) resume() {
	key, k := m.head()
	_, err := m.Outbox.ResumeHead(m.database.t.Context(), k, ada)
	require.NoError(m.t, err)
	delete(m.paused, key)
}

// cancel cancels any open delivery of a key.
func (m *orderModel) cancel() {
	key, k := m.head()
	k.EventID = rapid.SampledFrom(m.keys[key]).Draw(m.t, "delivery")
	_, err := m.Outbox.CancelDelivery(m.database.t.Context(), k, ada)
	require.NoError(m.t, err)
	isPaused, isHead := m.paused[key], m.keys[key][0] == k.EventID
	m.remove(k.EventID)
	if isPaused && !isHead {
		m.paused[key] = true
	}
}

// resend sends a delivery again that has ended: it goes to the end of its key.
func (m *orderModel) resend() {
	if len(m.ended) == 0 {
		m.t.Skip("none has ended")
	}
	id := m.ended[0]
	m.ended = m.ended[1:]
	_, err := m.Outbox.Resend(m.database.t.Context(), delivery.Key{EventID: id, SubscriptionID: m.sub.ID}, ada)
	require.NoError(m.t, err)
	m.append(value[string](m.database, `SELECT type FROM events WHERE id = $1`, id), id)
}

// kill loses all attempts: their leases end.
func (m *orderModel) kill() {
	m.attempt = nil
	m.passes(m.sub.DestinationID, time.Hour)
	m.exec(`UPDATE delivery_queue SET leases = 0 WHERE subscription_id = $1`, m.sub.ID)
}

// Whatever happens, in whatever order, the one delivery of a key that is attempted is its first one.
func TestOrderedDeliveriesAgreeWithTheModel(t *testing.T) {
	t.Parallel()
	db := open(t)
	other := connect(t, db.url)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		m := newOrderModel(rt, db, n)
		defer m.end()
		rt.Repeat(map[string]func(*rapid.T){
			"process":              func(*rapid.T) { m.process() },
			"process again":        func(*rapid.T) { m.process() },
			"lease":                func(*rapid.T) { m.lease() },
			"succeed":              func(*rapid.T) { m.finish(delivery.OK, false) },
			"fail":                 func(*rapid.T) { m.finish(delivery.Missing, false) },
			"become a dead letter": func(*rapid.T) { m.finish(delivery.Final, true) },
			"kill":                 func(*rapid.T) { m.kill() },
			"begin a transaction":  func(*rapid.T) { m.begin(other) },
			"end the transaction":  func(*rapid.T) { m.end() },
			"skip":                 func(*rapid.T) { m.skip() },
			"pause":                func(*rapid.T) { m.pause() },
			"resume":               func(*rapid.T) { m.resume() },
			"cancel":               func(*rapid.T) { m.cancel() },
			"resend":               func(*rapid.T) { m.resend() },
			"rearm":                func(*rapid.T) { require.NoError(rt, db.Outbox.Rearm(t.Context())) },
			"probe": func(*rapid.T) {
				_, err := db.Subscriptions.ProbeDestination(t.Context(), m.name, ada)
				require.NoError(rt, err)
			},
		})
		m.end()
		m.paused = map[string]bool{}
		m.exec(`UPDATE delivery_queue SET order_state = 'head', due_at = now() WHERE order_state = 'paused' AND subscription_id = $1`,
			m.sub.ID)
		const isOpen = `SELECT EXISTS (SELECT FROM delivery_queue WHERE subscription_id = $1)`
		for end := time.Now().Add(time.Minute); value[bool](db, isOpen, m.sub.ID); {
			require.True(rt, time.Now().Before(end), "a delivery is never leased")
			db.exec(`UPDATE destination_states SET next_at = now(), held = '', low_at = '-infinity'`)
			for m.lease(); len(m.attempt) > 0; {
				m.finish(delivery.OK, false)
			}
		}
		for _, all := range m.keys {
			require.Empty(rt, all)
		}
	})
}

// orderedEndpoint records what two dispatchers send.
type orderedEndpoint struct {
	mu       sync.Mutex
	inFlight map[string]string // event by key
	accepted map[string][]string
	broken   []string
}

func (e *orderedEndpoint) begin(key, id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if other := e.inFlight[key]; other != "" {
		e.broken = append(e.broken, key+": "+id+" during "+other)
	}
	e.inFlight[key] = id
}

func (e *orderedEndpoint) end(key, id string, isAccepted bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.inFlight, key)
	if isAccepted {
		e.accepted[key] = append(e.accepted[key], id)
	}
}

func (e *orderedEndpoint) count() (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, all := range e.accepted {
		n += len(all)
	}
	return n
}

// dispatch is a dispatcher that fails often, and loses attempts as if it was killed.
func (e *orderedEndpoint) dispatch(
	ctx context.Context, db *database, to delivery.Subscription, typeOf *sync.Map, isDone func() bool,
) error {
	for ctx.Err() == nil && !isDone() {
		if _, err := db.Outbox.SortOrdered(ctx); err != nil {
			return err
		}
		jobs, _, err := db.Outbox.Lease(ctx, delivery.LeaseRequest{Limit: 10, Only: []int64{to.DestinationID}})
		if err != nil {
			return err
		}
		var outcomes []delivery.Outcome
		for _, j := range jobs {
			known, _ := typeOf.Load(j.EventID)
			key, dice := known.(string), rand.IntN(10)
			e.begin(key, j.EventID)
			<-time.After(time.Duration(rand.IntN(3)) * time.Millisecond) // an attempt takes time
			e.end(key, j.EventID, dice > 2)
			switch {
			case dice == 0: // killed: another process leases it once the lease has ended
				if _, err := db.sql.Exec(ctx, `UPDATE delivery_queue SET due_at = now(), leases = 0 WHERE lease = $1 AND event_id = $2`,
					j.Lease, j.EventID); err != nil {
					return err
				}
			case dice <= 2:
				outcomes = append(outcomes, became(j, delivery.Missing, "404"))
			default:
				outcomes = append(outcomes, became(j, delivery.OK, "200"))
			}
		}
		if _, err := db.Outbox.Settle(ctx, outcomes); err != nil {
			return err
		}
		if err := db.Outbox.Rearm(ctx); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Two dispatchers deliver what several writers process at the same time, in the order of the change feed.
func TestTwoDispatchersKeepTheOrderOfTheFeed(t *testing.T) {
	t.Parallel()
	const writers, each, keys = 6, 25, 4
	db := open(t)
	_, err := db.Subscriptions.ApplyDestination(t.Context(), delivery.Destination{
		Name: "crm", HTTP: &delivery.HTTP{URL: "https://crm.example.com"}, Breaker: delivery.Breaker{Failures: 1000},
	}, nil, admin)
	require.NoError(t, err)
	to, err := db.Subscriptions.ApplySubscription(t.Context(), delivery.Subscription{
		Name: "crm", To: "crm", Active: true, OrderBy: ".event.type",
	}, ada)
	require.NoError(t, err)
	// Transactions commit long after their first write, in another order.
	db.exec(`CREATE FUNCTION commit_slowly() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN PERFORM pg_sleep(random() * 0.03); RETURN NULL; END $$;
		CREATE CONSTRAINT TRIGGER commits_slowly AFTER INSERT ON delivery_queue DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION commit_slowly()`)
	start, err := db.Changes.Now(t.Context())
	require.NoError(t, err)

	e := &orderedEndpoint{inFlight: map[string]string{}, accepted: map[string][]string{}}
	var typeOf sync.Map
	var failed atomic.Bool
	isDone := func() bool { return failed.Load() || e.count() >= writers*each }
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var group errgroup.Group
	for range 2 {
		second := openURL(t, db.url)
		group.Go(func() error {
			err := e.dispatch(ctx, second, to, &typeOf, isDone)
			if err != nil {
				failed.Store(true)
			}
			return err
		})
	}
	for range writers {
		own := openURL(t, db.url) // one process writes its events together
		group.Go(func() error {
			for range each {
				r, p := receipt(), parsed()
				p.Type = fmt.Sprintf("key.%d", rand.IntN(keys))
				r.Type = p.Type
				typeOf.Store(r.ID, p.Type)
				if _, err := own.Writer.Write(t.Context(), event.WholeEvent, r, body, p, runOf(r)); err != nil {
					failed.Store(true)
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	require.Empty(t, e.broken, "two of a key at once")
	require.Equal(t, db.processedByType(start), e.accepted)
	require.Equal(t, 0, value[int](db, `SELECT count(*) FROM delivery_queue`))
}

// processedByType returns the events that the change feed reports as processed, in its order.
func (d *database) processedByType(after feed.Cursor) map[string][]string {
	d.t.Helper()
	all := map[string][]string{}
	for more := true; more; {
		page, err := d.Changes.Changes(d.t.Context(), after, 100)
		require.NoError(d.t, err)
		for _, c := range page.Items {
			if c.Subject == feed.Event && c.Action == feed.Processed {
				all[c.Kind] = append(all[c.Kind], c.ID)
			}
		}
		after, more = page.Next, page.More
	}
	return all
}
