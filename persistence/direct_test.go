package persistence_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/delivery/webhook"
	"holdfast/event"
	"holdfast/persistence"
	"holdfast/providers"
	"holdfast/providers/auth"
)

// direct is a dispatcher of deliveries that are leased when they are inserted. It only keeps them.
type direct struct {
	mu        sync.Mutex
	isFull    bool
	onReserve func() // runs before the last statements of the transaction
	reserved  int
	started   []started
}

type started struct {
	delivery.Job
	target  delivery.Target
	message delivery.Message
}

func (d *direct) Reserve(int64, int) delivery.Reservation {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.isFull {
		return nil
	}
	if d.onReserve != nil {
		d.onReserve()
	}
	d.reserved++
	return d
}

func (d *direct) Start(j delivery.Job, t delivery.Target, m delivery.Message) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reserved--
	d.started = append(d.started, started{j, t, m})
}

func (d *direct) Free() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reserved--
}

// take returns what has started since the last call. Nothing may be reserved any more.
func (d *direct) take(t testing.TB) []started {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	require.Zero(t, d.reserved, "a slot was not given back")
	all := d.started
	d.started = nil
	return all
}

// deliverTo opens a store with a subscription to everything and a dispatcher that starts deliveries directly.
func deliverTo(t *testing.T, change func(*delivery.Destination)) (*database, *direct, delivery.Subscription) {
	db, d := open(t), &direct{}
	s := db.subscribe("d1", delivery.Events{})
	db.edit(change)
	db.Subscriptions.DeliverThrough(d)
	return db, d, s
}

func same(*delivery.Destination) {}

// edit changes the destination d1 like the API.
func (d *database) edit(change func(*delivery.Destination)) {
	d.t.Helper()
	settings := delivery.Destination{Name: "d1", HTTP: &delivery.HTTP{URL: "https://crm.example.com"}}
	change(&settings)
	_, err := d.Subscriptions.ApplyDestination(d.t.Context(), settings, nil, admin)
	require.NoError(d.t, err)
}

func perHour(n int) *delivery.Rate {
	return &delivery.Rate{Requests: n, Per: event.Duration(time.Hour)}
}

// An ordinary delivery is leased by the transaction that inserts it, and starts with what an attempt from the queue would have.
// The destination isn't written, and no dispatcher is woken.
func TestADeliveryStartsWithoutTheQueue(t *testing.T) {
	t.Parallel()
	db, d, s := deliverTo(t, func(d *delivery.Destination) { d.Timeout = event.Duration(20 * time.Second) })
	condition := func() string { return value[string](db, `SELECT s::text FROM destination_states AS s`) }
	require.Empty(t, db.lease(10, 10))
	before, r := condition(), receipt()
	<-db.Outbox.Wakes()
	db.mustProcess(r, parsed())
	all := d.take(t)
	require.Len(t, all, 1)
	j := all[0].Job
	require.Equal(t, delivery.Key{EventID: r.ID, SubscriptionID: s.ID}, j.Key)
	require.True(t, value[bool](db, `
SELECT lease = $1::uuid AND leases = 1 AND epoch = $2 AND own_id AND attempts = 0 AND queued_at = $3 AND destination_id = $4
       AND due_at BETWEEN now() + interval '30 s' AND now() + interval '35 s' FROM delivery_queue`,
		j.Lease, j.Epoch, j.QueuedAt, j.DestinationID))
	require.WithinDuration(t, time.Now().Add(35*time.Second), j.LeasedUntil, 5*time.Second)
	require.False(t, j.LeasedUntil.After(value[time.Time](db, `SELECT due_at FROM delivery_queue`)))
	target, err := db.Subscriptions.Target(t.Context(), s.ID)
	require.NoError(t, err)
	require.Equal(t, target, all[0].target)
	require.Equal(t, before, condition())
	select {
	case <-db.Outbox.Wakes():
		require.Fail(t, "the dispatcher was woken")
	default:
	}
	require.Empty(t, db.lease(10, 10))
	db.settle(became(j, delivery.OK, "200"))
	require.Zero(t, db.open(j.DestinationID))
	require.Equal(t, before, condition())
}

// Whatever may stand against an attempt at once sends the delivery to the queue, where it is due, and gives the slot back.
func TestADeliveryThatMayNotStartIsQueued(t *testing.T) {
	t.Parallel()
	state := func(set string) func(*database) {
		return func(db *database) { db.exec(`UPDATE destination_states SET ` + set) }
	}
	for name, prepare := range map[string]func(*database){
		"paused":       state(`state = 'paused'`),
		"disabled":     state(`state = 'disabled'`),
		"open":         state(`breaker = 'open', open_until = now() - interval '1 s'`),
		"half open":    state(`breaker = 'half_open'`),
		"failed":       state(`failures = 1`),
		"failing":      state(`failing_since = now()`),
		"probed":       state(`probe_at = now()`),
		"busy":         state(`busy_answers = 1`),
		"slow start":   state(`closed_at = now() - interval '15 s'`),
		"full":         state(`held = 'full'`),
		"blocked":      state(`held = 'open'`),
		"without row":  func(db *database) { db.exec(`DELETE FROM destination_states`) },
		"locked":       func(db *database) { db.exec(`BEGIN`); db.exec(`SELECT FROM destination_states FOR UPDATE`) },
		"rate":         func(db *database) { db.edit(func(d *delivery.Destination) { d.Rate = perHour(60) }) },
		"no slot":      func(db *database) { db.Subscriptions.DeliverThrough(&direct{isFull: true}) },
		"of two":       func(db *database) { db.subscribe("two", delivery.Events{}) },
		"earlier ones": func(db *database) { db.queueTo("d1", 1) },
		"ended leases": func(db *database) {
			db.mustProcess(receipt(), parsed())
			db.exec(`UPDATE delivery_queue SET due_at = now()`)
		},
		"at its limit": func(db *database) {
			for range 2 {
				db.mustProcess(receipt(), parsed())
			}
			require.Equal(t, 2, db.leased())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, d, _ := deliverTo(t, func(d *delivery.Destination) { d.InFlight = 2 })
			prepare(db)
			d.take(t)
			r := receipt()
			db.mustProcess(r, parsed())
			require.Empty(t, d.take(t))
			require.True(t, value[bool](db, `
SELECT bool_and(lease IS NULL AND leases = 0 AND due_at <= clock_timestamp()) FROM delivery_queue
 WHERE event_id = $1::uuid`, r.ID))
		})
	}
}

// Between the reads of a transaction and its last statements, an operator changes the destination or pauses it: nothing starts
// after the change is confirmed.
func TestNothingStartsAfterAConfirmedChange(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*database){
		"changed": func(db *database) { db.edit(func(d *delivery.Destination) { d.InFlight = 3 }) },
		"rotated": func(db *database) {
			require.NoError(t, db.Subscriptions.RotateSecret(t.Context(), "d1", delivery.Secret{Value: webhook.NewSecret()}, 0, ada))
		},
		"paused": func(db *database) {
			_, err := db.Subscriptions.SetDestinationState(t.Context(), "d1", delivery.DestinationPaused, ada)
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, d, _ := deliverTo(t, same)
			d.onReserve = func() { change(db) }
			r := receipt()
			db.mustProcess(r, parsed())
			require.Empty(t, d.take(t))
			require.Len(t, db.queued(r), 1)
			require.Zero(t, db.leased())
		})
	}
}

// While a transaction commits that has leased its delivery, an operator removes what the attempt would use: the change is confirmed
// after the commit, as a pause is, so that nothing starts later with what it has removed.
func TestAChangeWaitsForACommitThatStartsADelivery(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*database) error{
		"rotated": func(db *database) error {
			return db.Subscriptions.RotateSecret(t.Context(), "d1", delivery.Secret{Value: webhook.NewSecret()}, 0, ada)
		},
		"deleted": func(db *database) error {
			_, err := db.Subscriptions.DeleteSubscription(t.Context(), "d1", ada)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, d, _ := deliverTo(t, same)
			db.exec(`CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(1); RETURN NULL; END'`)
			db.exec(`CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON delivery_queue DEFERRABLE INITIALLY DEFERRED
				FOR EACH ROW EXECUTE FUNCTION slow()`)
			commits := func() bool {
				return value[int](db, `
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`) > 0
			}
			r := receipt()
			written := make(chan error, 1)
			go func() {
				_, err := db.Writer.Write(t.Context(), event.WholeEvent, r, body, parsed(), runOf(r))
				written <- err
			}()
			require.Eventually(t, commits, 30*time.Second, 5*time.Millisecond)
			require.NoError(t, change(db))
			require.False(t, commits())
			require.NoError(t, <-written)
			require.Len(t, d.take(t), 1)
		})
	}
}

// queueTo queues earlier deliveries to a destination.
func (d *database) queueTo(name string, n int) {
	d.t.Helper()
	d.exec(`
INSERT INTO delivery_queue (event_id, subscription_id, destination_id)
SELECT gen_random_uuid(), s.id, s.destination_id FROM subscriptions AS s, generate_series(1, $2) WHERE s.name = $1`, name, n)
}

// Events that a transaction doesn't store with their body from memory go through the queue: those that are stored already, and
// large ones. So do several in one transaction.
func TestOnlyNewRowsStartWithoutTheQueue(t *testing.T) {
	t.Parallel()
	db, d, _ := deliverTo(t, same)
	r := receipt()
	_, err := db.Writer.Write(t.Context(), event.RowOnly, r, body, parsed(), runOf(r))
	require.NoError(t, err)
	require.NoError(t, db.UpsertEntities(t.Context(), r, parsed(), runOf(r)))
	require.Len(t, db.queued(r), 1)

	stored := receipt()
	_, err = db.Writer.Write(t.Context(), event.RowOnly, stored, body, parsed(), runOf(stored))
	require.NoError(t, err)
	db.mustProcess(stored, parsed())
	require.Len(t, db.queued(stored), 1)

	one, two := db.bulk(receipt()), db.bulk(receipt())
	require.Equal(t, map[string]event.Outcome{one.ID: event.OutcomeProcessed, two.ID: event.OutcomeProcessed},
		outcomes(db.batch(newBatchRun(), nil)))
	require.Empty(t, d.take(t))
	require.Zero(t, db.leased())

	db.exec(`DELETE FROM delivery_queue`)
	three := db.bulk(receipt())
	db.batch(newBatchRun(), nil)
	all := d.take(t)
	require.Len(t, all, 1)
	require.Equal(t, three.ID, all[0].EventID)
}

// A commit whose response is lost starts nothing. The lease that it may have is released by the next lease, and the delivery is
// made from the queue.
func TestNothingStartsAfterAnUnknownCommit(t *testing.T) {
	t.Parallel()
	tap, d := &wiretap{}, &direct{}
	db := openTapped(t, tap)
	db.subscribe("d1", delivery.Events{})
	db.Subscriptions.DeliverThrough(d)
	db.mustProcess(receipt(), parsed())
	require.Len(t, d.take(t), 1)
	r := receipt()
	tap.cuts.Store(true)
	_, err := db.Writer.Write(t.Context(), event.WholeEvent, r, body, parsed(), runOf(r))
	require.Error(t, err)
	tap.cuts.Store(false)
	require.Empty(t, d.take(t))
	require.Equal(t, 2, db.leased())
	db.mustProcess(r, parsed())
	require.Empty(t, d.take(t), "the event is processed already")
	jobs := db.lease(10, 10)
	require.Len(t, jobs, 1)
	require.Equal(t, r.ID, jobs[0].EventID)
	require.Zero(t, jobs[0].Tries)
}

func openTapped(t *testing.T, tap *wiretap) *database {
	return open(t, func(c *persistence.Config) {
		tap.server = c.URL
		c.URL = tap.listen(t)
	})
}

// The message from memory is the one from the row, for all events of the fixtures and for what a column can't store.
func TestTheMessageFromMemoryIsTheStoredOne(t *testing.T) {
	t.Parallel()
	db, d, _ := deliverTo(t, func(d *delivery.Destination) { d.InFlight = 10_000 })
	check := func(name string, r event.Receipt, body []byte, p event.Parsed) {
		t.Helper()
		persisted, err := db.Writer.Write(t.Context(), event.WholeEvent, r, body, p, runOf(r))
		require.NoError(t, err, name)
		if !persisted.Processed {
			return
		}
		all := d.take(t)
		require.Len(t, all, 1, name)
		stored, _, err := db.Subscriptions.Messages(t.Context(), []string{r.ID}, 1<<20)
		require.NoError(t, err)
		require.Equal(t, stored[r.ID], all[0].message, name)
	}
	catalogue, err := providers.Load("")
	require.NoError(t, err)
	files, err := filepath.Glob("../providers/testdata/*/*.http")
	require.NoError(t, err)
	require.Greater(t, len(files), 50)
	for _, file := range files {
		p, request := readFixture(t, catalogue, file)
		items, err := p.Split(request)
		require.NoError(t, err, file)
		for i, item := range items {
			r := receipt()
			r.Provider, r.Source, r.KeyFrom, r.Type = p.Name(), item.Source, item.KeyFrom, item.Type
			r.Key = fmt.Sprint(item.Key, file, i)
			r.Headers, r.Query, r.Path, r.Root = item.Headers, item.Query, item.Path, item.Root
			r.ReceivedAt = noon.Add(123456789 * time.Nanosecond)
			if parsed, err := p.Parse(r, item.Body); err == nil {
				check(file, r, item.Body, parsed)
			}
		}
	}

	hostile := receipt()
	hostile.Headers = map[string]string{"x-\xff": "a\x00b", "\x00": "\xed\xa0\x80", "é": `"\u0000`}
	hostile.Query, hostile.Path = map[string]string{"q": "\x00\xff"}, map[string]string{"p": "\xff"}
	hostile.Root = []byte(strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000))
	hostile.ReceivedAt = time.Date(2026, 1, 2, 3, 4, 5, 999_999_999, time.FixedZone("", 3600))
	p := parsed()
	p.Type = "a\x00\xff"
	p.OccurredAt = time.Date(1969, 12, 31, 23, 59, 59, 999_999_999, time.FixedZone("", -7200))
	check("hostile", hostile, []byte("\x00\xff"), p)
	p.OccurredAt = time.Time{}
	check("without a body or a time", receipt(), nil, p)

	check("guessed", guessed("same", 0), body, repeats(false, 0))
	check("possible duplicate", guessed("same", time.Minute), body, repeats(false, 0))
	require.Equal(t, 1, value[int](db, `SELECT count(*) FROM events WHERE possible_duplicate_of IS NOT NULL`))
}

// readFixture reads "POST /path", headers, an empty line, and the body.
func readFixture(t *testing.T, c *providers.Catalogue, file string) (*providers.Provider, *auth.Request) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	head, body, _ := bytes.Cut(data, []byte("\n\n"))
	lines := strings.Split(string(head), "\n")
	target, err := url.Parse(strings.TrimPrefix(lines[0], "POST "))
	require.NoError(t, err)
	r := &auth.Request{
		Method: http.MethodPost, Path: target.Path, Query: target.Query(), Body: body,
		Header: map[string][]string{}, URL: "https://hooks.example.com" + target.String(),
	}
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		r.Header[name] = append(r.Header[name], value)
	}
	p, params, ok := c.ByPath(r.Path)
	require.True(t, ok, file)
	r.PathParams = params
	return p, r
}

// What the delivery of an event adds to the statements and commits of that event, if events come one after the other.
func TestADirectDeliveryTakesFewStatements(t *testing.T) {
	t.Parallel()
	const events = 30
	count := func(isDirect bool) (statementsOfEach, commitsOfEach float64) {
		seen := &statements{}
		db, r := open(t, func(c *persistence.Config) { c.Tracer = seen }), startEndpoint(t)
		db.endpoint(1, r)
		d := db.dispatcher(16)
		if !isDirect {
			db.Subscriptions.DeliverThrough(&direct{isFull: true})
		}
		for n := range events + 1 {
			if n == 1 {
				seen.forget() // the first one fills caches, and proves the destination
			}
			db.mustProcess(receipt(), parsed())
			<-r.came
			for value[int](db, `SELECT count(*) FROM delivery_queue`) > 0 {
				<-time.After(time.Millisecond)
			}
		}
		seen.mu.Lock()
		sent := slices.Clone(seen.sent)
		seen.mu.Unlock()
		require.NoError(t, d.Stop(t.Context(), time.Minute))
		commits := 0
		for _, s := range sent {
			if s.sql == "commit" {
				commits++
			}
		}
		return float64(len(sent)) / events, float64(commits) / events
	}
	statements, commits := count(true)
	queued, commitsQueued := count(false)
	t.Logf("%.1f statements, %.1f commits; through the queue %.1f, %.1f", statements, commits, queued, commitsQueued)
	require.Less(t, statements, queued-10)
	require.Less(t, commits, commitsQueued-0.5)
}
