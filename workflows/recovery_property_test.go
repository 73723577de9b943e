package workflows_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"pgregory.net/rapid"

	"holdfast/activities/background"
	"holdfast/activities/eventlist"
	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/internal/devstack/fakeapi"
	"holdfast/internal/devstack/stacktest"
	"holdfast/persistence"
	"holdfast/persistence/recoveries"
	"holdfast/providers"
	"holdfast/providers/client"
	"holdfast/providers/recovery"
)

// The times of the shop's list.
const (
	shopReach, shopOverlap, shopSettle = 10 * 24 * time.Hour, time.Hour, 5 * time.Minute

	shopDefinition = `
name: shop
extends: stripe
api:
  host: api.shop.example.com
  headers: {authorization: "Bearer {SHOP_API_KEY}"}
  rate: {requests: 5, per: 1s}
recover: {reach: 10d, overlap: 1h, settle: 5m, types: ["customer.*", "charge.*"]}
overrides:
  - {types: ["charge.*"], lane: bulk, priority: normal}
`
	// moment is longer than a step of the test takes.
	moment = time.Minute
)

var errKilled = errors.New("killed")

// shopWorld is a provider, its list, and an installation that recovers events from it. Time passes by moving everything into the
// past.
type shopWorld struct {
	t     *rapid.T
	store *persistence.Store
	sql   *pgx.Conn
	all   *background.Activities

	switchedOn time.Time
	events     []*shopEvent
	made       map[string]bool // also those that aren't listed yet

	mu       sync.Mutex
	fake     *fakeapi.Server
	requests int
	midWalk  map[int][]*shopEvent // listed during a walk, by request
	faults   []fakeapi.Fault
	kills    []int // per commit or start: 1 before it, 2 after it
}

// shopEvent is an event of the provider, with the time when it appeared in the list.
type shopEvent struct {
	fakeapi.Event

	listed time.Time
	// arrived is set once a webhook has delivered it.
	arrived bool
}

// killed decides whether the process dies now: before a call has an effect, or after it, the reply being lost.
func (w *shopWorld) killed(call func() error) error {
	next := 0
	if len(w.kills) > 0 {
		next, w.kills = w.kills[0], w.kills[1:]
	}
	if next == 1 {
		return errKilled
	}
	if err := call(); err != nil {
		return err
	}
	if next == 2 {
		return errKilled
	}
	return nil
}

// dying is the store of recoveries of a process that is killed.
type dying struct {
	*recoveries.Store
	w *shopWorld
}

func (d dying) Begin(
	ctx context.Context, id string, window operation.RecoveryWindow, walk json.RawMessage,
) (r operation.Recovery, err error) {
	err = d.w.killed(func() error { r, err = d.Store.Begin(ctx, id, window, walk); return err })
	return r, err
}

func (d dying) AddPage(
	ctx context.Context, before operation.Recovery, p operation.RecoveryPage,
) (r operation.Recovery, err error) {
	err = d.w.killed(func() error { r, err = d.Store.AddPage(ctx, before, p); return err })
	return r, err
}

func (d dying) Settle(
	ctx context.Context, id string, items []operation.RecoveryItem, became operation.RecoveryStart,
) (r operation.Recovery, err error) {
	err = d.w.killed(func() error { r, err = d.Store.Settle(ctx, id, items, became); return err })
	return r, err
}

func (d dying) Finish(ctx context.Context, id string) (r operation.Recovery, err error) {
	err = d.w.killed(func() error { r, err = d.Store.Finish(ctx, id); return err })
	return r, err
}

// Recover starts an event: as for a Temporal that is down, in the inbox.
func (w *shopWorld) Recover(ctx context.Context, r event.Receipt, body []byte) (bool, error) {
	return w.Spool(ctx, event.LaneOverflow, r, body, true)
}

// Spool commits an event to the inbox, which stands for all that is here: once, since all dedupe windows are longer than the
// test.
func (w *shopWorld) Spool(ctx context.Context, lane event.Lane, r event.Receipt, body []byte, reject bool) (stored bool, err error) {
	r.DedupeWindow = 0
	err = w.killed(func() error {
		stored, err = w.store.Inbox.NewInboxWriter().Spool(ctx, lane, r, body, reject)
		return err
	})
	return stored, err
}

// KeepLarge fails: no event of the shop is too large for Temporal.
func (*shopWorld) KeepLarge(context.Context, event.Receipt, []byte, bool, time.Duration) (bool, error) {
	return false, errors.New("an event of the shop is large")
}

// wakeless is a Temporal that starts events only.
type wakeless struct {
	background.RunStarter
	*shopWorld
}

func (s wakeless) Recover(ctx context.Context, r event.Receipt, body []byte) (bool, error) {
	return s.shopWorld.Recover(ctx, r, body)
}

func (wakeless) LatestRun(context.Context, string) (operation.LatestRun, error) {
	return operation.LatestRun{}, nil
}

func (wakeless) Wake(context.Context, operation.Kind, string) error { return nil }

func (w *shopWorld) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	w.requests++
	w.list(w.midWalk[w.requests]...)
	fake := w.fake
	w.mu.Unlock()
	fake.ServeHTTP(out, r)
}

// list adds events to the list now.
func (w *shopWorld) list(events ...*shopEvent) {
	for _, e := range events {
		e.listed = time.Now()
		w.events = append(w.events, e)
		w.fake.Add(e.Event)
	}
}

// relist makes the list of the present times of all events.
func (w *shopWorld) relist(pageCap int) {
	w.fake = fakeapi.New(fakeapi.Styles()["stripe"])
	w.fake.PageCap = pageCap
	w.fake.Fault = func(int) (f fakeapi.Fault) {
		if len(w.faults) > 0 {
			f, w.faults = w.faults[0], w.faults[1:]
		}
		return f
	}
	for _, e := range w.events {
		w.fake.Add(e.Event)
	}
}

func (w *shopWorld) exec(sql string, args ...any) {
	_, err := w.sql.Exec(context.Background(), sql, args...)
	require.NoError(w.t, err)
}

// pass lets time pass.
func (w *shopWorld) pass(d time.Duration) {
	w.exec(`UPDATE recovery_marks SET switched_on = switched_on - $1::interval, watermark = watermark - $1::interval,
		walked_at = walked_at - $1::interval`, d)
	w.switchedOn = w.switchedOn.Add(-d)
	for _, e := range w.events {
		e.Time, e.listed = e.Time.Add(-d), e.listed.Add(-d)
	}
}

// webhook brings an event, again if it is here.
func (w *shopWorld) webhook(e *shopEvent) {
	kills := w.kills
	w.kills = nil
	lane := event.LaneOverflow
	if e.Type == "charge.updated" {
		lane = event.LaneBulk
	}
	_, err := w.Spool(context.Background(), lane, event.Receipt{
		ID: uuid.NewString(), Provider: "shop", Key: e.ID, KeyFrom: event.KeyFromEvent, Type: e.Type, ReceivedAt: time.Now(),
	}, []byte(e.ID), true)
	require.NoError(w.t, err)
	w.kills, e.arrived = kills, true
}

// happens makes events that appear in the list now. Their delay is within the overlap or needs the daily walk; some have a time
// before recovery was switched on.
func (w *shopWorld) happens(label string) (events []*shopEvent) {
	for range rapid.IntRange(0, 5).Draw(w.t, label) {
		delay := rapid.OneOf(rapid.IntRange(0, 58), rapid.IntRange(0, 58), rapid.IntRange(60, 9*24*60)).Draw(w.t, "delay in minutes")
		eventType := rapid.SampledFrom([]string{"customer.updated", "charge.updated"}).Draw(w.t, "type")
		e := &shopEvent{Event: fakeapi.Event{
			ID: "evt_" + uuid.NewString(), Type: eventType, Time: time.Now().Add(-time.Duration(delay) * time.Minute).Truncate(time.Second),
		}}
		w.made["shop:"+e.ID] = true
		if rapid.IntRange(0, 2).Draw(w.t, "arrives") == 0 {
			w.webhook(e)
		}
		events = append(events, e)
	}
	return events
}

// runRecovery runs a recovery to its end. An attempt that is killed is repeated, and each other one is followed by a call.
func runRecovery(
	t require.TestingT, all *background.Activities, id string, then func(operation.Recovery),
) (r operation.Recovery) {
	env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	env.RegisterActivity(all.RecoveryPage)
	for tries := 0; !r.State.Ended(); tries++ {
		require.Less(t, tries, 100, "it doesn't end: %+v", r)
		encoded, err := env.ExecuteActivity(all.RecoveryPage, id)
		if err != nil {
			require.ErrorContains(t, err, errKilled.Error())
			continue
		}
		require.NoError(t, encoded.Get(&r))
		then(r)
	}
	return r
}

// openStore opens a new database twice: as a store, and for statements of the test.
func openStore(t *testing.T) (*persistence.Store, *pgx.Conn) {
	t.Helper()
	url := cluster.Database(t)
	store, err := persistence.Open(t.Context(), persistence.Config{URL: url, MaxConns: 4})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	sql, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sql.Close(context.WithoutCancel(t.Context()))) })
	return store, sql
}

// recovery runs a recovery to its end, whatever fails, and checks what it promises.
func (w *shopWorld) recovery(id string) {
	w.exec(`UPDATE recoveries SET rate = 1e6 WHERE id = $1`, id)
	r := runRecovery(w.t, w.all, id, func(r operation.Recovery) {
		w.exec(`UPDATE recoveries SET retry_at = NULL WHERE id = $1`, id) // that time has come
		if r.State == operation.Paused {
			_, err := w.store.Recoveries.Change(context.Background(), id, operation.Running, oversight.Actor{Name: "ada"})
			require.NoError(w.t, err)
		}
	})
	require.Equal(w.t, operation.Completed, r.State)
	if r.DryRun {
		return
	}
	require.Equal(w.t, r.Missed, r.Recovered+r.Arrived)
	w.check(r)
}

// check requires each event exactly once that a completed recovery had to find, and none from before recovery was on.
func (w *shopWorld) check(r operation.Recovery) {
	rows, err := w.sql.Query(context.Background(), `SELECT workflow_id FROM inbox`)
	require.NoError(w.t, err)
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(w.t, err)
	here := map[string]int{}
	for _, id := range found {
		here[id]++
		require.True(w.t, w.made[id], "%s is of no event", id)
	}
	began := r.Until.Add(shopSettle)
	for _, e := range w.events {
		n := here["shop:"+e.ID]
		delay := e.listed.Sub(e.Time)
		age := began.Sub(e.Time)
		isWanted := e.listed.Before(began) && age > shopSettle && age < shopReach-2*moment && e.Time.After(w.switchedOn.Add(time.Second))
		switch {
		case !r.AskedSince.IsZero():
			isWanted = isWanted && e.Time.After(r.AskedSince)
		case !r.Whole:
			isWanted = isWanted && delay < shopOverlap
		}
		if isWanted || e.arrived {
			require.Equal(w.t, 1, n, "%s of %s, listed %s later; %+v", e.ID, e.Time, delay, r)
		} else if e.Time.Before(w.switchedOn.Add(-time.Second)) {
			require.Zero(w.t, n, "%s of %s is from before recovery was switched on", e.ID, e.Time)
		}
		require.LessOrEqual(w.t, n, 1, e.ID)
	}
}

// scheduled runs what the schedule starts.
func (w *shopWorld) scheduled() {
	env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	env.RegisterActivity(w.all.RecoverDue)
	encoded, err := env.ExecuteActivity(w.all.RecoverDue)
	require.NoError(w.t, err)
	var ids []string
	require.NoError(w.t, encoded.Get(&ids))
	require.Len(w.t, ids, 1)
	w.recovery(ids[0])
}

// asked runs what an operator starts: since a time, and perhaps dry.
func (w *shopWorld) asked(since time.Duration, isDry bool) {
	r := operation.Recovery{Base: operation.New(20), Provider: "shop", DryRun: isDry}
	if since > 0 {
		r.AskedSince = time.Now().Add(-since)
	}
	_, err := w.store.Recoveries.Create(context.Background(), r, oversight.Actor{Name: "ada"})
	require.NoError(w.t, err)
	w.recovery(r.ID)
}

// step is a few hours or days of the world.
func (w *shopWorld) step() {
	w.pass(time.Duration(rapid.SampledFrom([]int{4, 45, 180, 180, 180, 25 * 60, 11 * 24 * 60}).Draw(w.t, "minutes pass")) * time.Minute)
	w.relist(rapid.IntRange(1, 10).Draw(w.t, "page"))
	w.list(w.happens("before")...)
	w.requests, w.midWalk = 0, map[int][]*shopEvent{}
	for n := range 3 {
		w.midWalk[n+1] = w.happens("during")
	}
	w.faults = rapid.SliceOfN(rapid.SampledFrom([]fakeapi.Fault{
		{}, {}, {}, {Status: 500}, {Status: 429, RetryAfter: "60"}, {Status: 401}, {IsTruncated: true}, {IsDropped: true},
	}), 0, 6).Draw(w.t, "faults")
	w.kills = rapid.SliceOfN(rapid.SampledFrom([]int{0, 0, 0, 1, 2}), 0, 12).Draw(w.t, "kills")
	switch rapid.SampledFrom([]string{"schedule", "schedule", "since", "since", "dry", "watermark", "nobody"}).Draw(w.t, "who") {
	case "schedule":
		w.scheduled()
	case "dry":
		w.asked(0, true)
	case "since":
		w.asked(time.Duration(rapid.SampledFrom([]int{6, 30, 24 * 60}).Draw(w.t, "since, in minutes"))*time.Minute, false)
	case "watermark":
		w.asked(0, false)
	}
	w.faults, w.kills, w.midWalk = nil, nil, nil
	for _, e := range w.events {
		if rapid.IntRange(0, 9).Draw(w.t, "late") == 0 {
			w.webhook(e)
		}
	}
}

// newShopReader reads the world's list, whatever the host is.
func newShopReader(t *testing.T, list http.Handler) *eventlist.Reader {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "shop.yaml"), []byte(shopDefinition), 0o600))
	catalogue, err := providers.Load(dir)
	require.NoError(t, err)
	server := httptest.NewTLSServer(list)
	t.Cleanup(server.Close)
	transport := server.Client().Transport.(*http.Transport).Clone()
	transport.TLSClientConfig.ServerName = "example.com" // as in the server's certificate
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &eventlist.Reader{
		Lookup: catalogue.Lookup, Rates: unlimited{},
		Lists:  func() map[string]*recovery.List { return map[string]*recovery.List{"shop": catalogue.Lists()["shop"]} },
		Client: client.New(transport, func(string) []string { return []string{fakeapi.Credential} }),
	}
}

// unlimited grants every request.
type unlimited struct{}

func (unlimited) TakeRates(context.Context, []event.RateClaim) ([]event.RateGrant, error) {
	return []event.RateGrant{{Granted: 1}}, nil
}

// Whatever the order, the delay and the failure, after a recovery every event of the provider's list that it can reach is here
// exactly once: those that appear in the list within the overlap after any recovery that goes on from the last one, and all
// others after the daily one. Operators' own recoveries and dry runs change nothing about that, nor do processes that are killed.
func TestRecoveriesFindEveryEventOnce(t *testing.T) {
	t.Parallel()
	stacktest.SkipIfShort(t)
	store, sql := openStore(t)
	var now *shopWorld
	reader := newShopReader(t, http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) { now.ServeHTTP(out, r) }))
	list, err := reader.Describe("shop")
	require.NoError(t, err)
	require.Equal(t, []time.Duration{shopReach, shopOverlap, shopSettle}, []time.Duration{list.Reach, list.Overlap, list.Settle})
	rapid.Check(t, func(rt *rapid.T) {
		w := &shopWorld{t: rt, store: store, sql: sql, switchedOn: time.Now(), made: map[string]bool{}}
		now = w
		w.all = &background.Activities{
			Recoveries: dying{store.Recoveries, w}, Lists: reader, Starter: wakeless{shopWorld: w}, Inbox: w,
		}
		w.exec(`TRUNCATE recovery_marks, recoveries, recovery_items, inbox`)
		require.NoError(rt, store.Recoveries.SwitchOn(t.Context(), map[string]operation.DedupeWindows{"shop": list.Dedupe}))
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			w.step()
		}
		w.pass(25 * time.Hour)
		w.relist(100)
		w.scheduled()
	})
}
