package persistence_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/delivery/dispatch"
	"holdfast/delivery/webhook"
	"holdfast/event"
	"holdfast/event/oversight"
)

// discard ignores notifications.
type discard struct{}

func (discard) Record(oversight.ErrorEntry) {}

// dispatcher processes the queue, with the senders of production, which may connect to this machine.
func (d *database) dispatcher(slots int) *dispatch.Dispatcher {
	d.t.Helper()
	return d.dispatcherWith(slots, toThisMachine())
}

func toThisMachine() *webhook.Sender {
	return webhook.NewSender(webhook.SenderOptions{AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
}

func (d *database) dispatcherWith(slots int, sender dispatch.Sender) *dispatch.Dispatcher {
	d.t.Helper()
	dispatcher, err := dispatch.New(dispatch.Options{
		Queue: d.QueueView(), HTTP: sender, Slots: slots, Errors: discard{}, Chores: []dispatch.Chore{{
			Name: "rearm", Every: time.Second, Do: func(ctx context.Context) (bool, error) { return false, d.Outbox.Rearm(ctx) },
		}},
	})
	require.NoError(d.t, err)
	dispatcher.Start()
	d.Subscriptions.DeliverThrough(dispatcher)
	return dispatcher
}

// countingEndpoint counts requests by ID, and responds as configured.
type countingEndpoint struct {
	*httptest.Server

	mu     sync.Mutex
	seen   map[string]int
	status atomic.Int64
	after  string // Retry-After of refusals
	came   chan struct{}
}

func startEndpoint(t *testing.T) *countingEndpoint {
	t.Helper()
	r := &countingEndpoint{seen: map[string]int{}, came: make(chan struct{}, 200_000)}
	r.status.Store(http.StatusOK)
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.mu.Lock()
		r.seen[request.Header.Get("Webhook-Id")]++
		r.mu.Unlock()
		if r.after != "" && r.status.Load() != http.StatusOK {
			w.Header().Set("Retry-After", r.after)
		}
		w.WriteHeader(int(r.status.Load()))
		r.came <- struct{}{}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *countingEndpoint) destination() delivery.Destination {
	return delivery.Destination{HTTP: &delivery.HTTP{URL: r.URL}, InFlight: 8,
		Breaker: delivery.Breaker{Failures: 5, Open: event.Duration(200 * time.Millisecond)},
		Retry:   delivery.Retry{Attempts: 100, Initial: event.Duration(50 * time.Millisecond), Maximum: event.Duration(time.Second)}}
}

// endpoint adds a destination with its own secret.
func (d *database) endpoint(id int64, r *countingEndpoint) {
	d.t.Helper()
	d.destination(id, r.destination())
	secret := delivery.Secret{Value: webhook.NewSecret()}
	require.NoError(d.t, d.Subscriptions.RotateSecret(d.t.Context(), fmt.Sprintf("d%d", id), secret, 0, ada))
}

func (d *database) untilDelivered(r *countingEndpoint, destination int64, n int) {
	d.t.Helper()
	for value[int](d, `SELECT count(*) FROM deliveries WHERE destination_id = $1 AND status = 'delivered'`, destination) < n {
		select {
		case <-r.came:
		case <-time.After(time.Second):
		}
	}
}

// Two dispatchers run side by side, and one stops in the middle: every pending delivery arrives, under its own ID, and none
// twice.
func TestDispatchersDeliverPendingDeliveries(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := startEndpoint(t)
	db.endpoint(1, r)
	ids := db.queue(1, 300)
	one, two := db.dispatcher(16), db.dispatcher(16)
	<-r.came
	require.NoError(t, one.Stop(t.Context(), time.Minute))
	db.untilDelivered(r, 1, 300)
	require.NoError(t, two.Stop(t.Context(), time.Minute))
	require.Len(t, r.seen, 300)
	for _, id := range ids {
		require.Equal(t, 1, r.seen[id])
	}
	require.Equal(t, 0, db.open(1))
}

// A destination that is down opens its breaker, and is not tried; when it is up again everything arrives. Another one isn't
// affected.
func TestAFailingDestinationRecovers(t *testing.T) {
	t.Parallel()
	db := open(t)
	down, up := startEndpoint(t), startEndpoint(t)
	down.status.Store(http.StatusInternalServerError)
	db.endpoint(1, down)
	db.endpoint(2, up)
	db.queue(1, 100)
	d := db.dispatcher(16)
	for value[int](db, `SELECT count(*) FROM destination_states WHERE destination_id = 1 AND breaker = 'open'`) == 0 {
		<-down.came
	}
	db.queue(2, 100)
	db.untilDelivered(up, 2, 100)
	require.Equal(t, 100, db.open(1))
	down.status.Store(http.StatusNoContent)
	db.untilDelivered(down, 1, 100)
	require.NoError(t, d.Stop(t.Context(), time.Minute))
	require.Equal(t, "closed", value[string](db, `SELECT breaker FROM destination_states WHERE destination_id = 1`))
}

var waitingRows = flag.Int("waiting", 1000, "how many deliveries wait behind a pause that is ended")

// Deliveries behind a pause cost nothing, and drain at the rate of the destination once that is over, each under its own ID and
// none twice; another destination is served meanwhile. `go test ./persistence -run BehindAPause -waiting 100000 -v` shows how
// long that takes.
func TestAPausedBacklogDrainsAtItsRate(t *testing.T) {
	t.Parallel()
	db := open(t)
	paused, other := startEndpoint(t), startEndpoint(t)
	db.endpoint(1, paused)
	db.endpoint(2, other)
	_, err := db.Subscriptions.SetDestinationState(t.Context(), "d1", delivery.DestinationPaused, ada)
	require.NoError(t, err)
	n, perSecond := *waitingRows, max(1000, *waitingRows/20)
	db.exec(`UPDATE destinations SET version = version + 100, settings = settings || jsonb_build_object('in_flight', 64,
'rate', jsonb_build_object('requests', $1::integer, 'per', '1s')) WHERE id = 1`, perSecond)
	db.exec(`UPDATE subscriptions_head SET version = version + 200`)
	for left := n; left > 0; left -= 1000 {
		db.queue(1, min(left, 1000))
	}
	d := db.dispatcher(128)
	db.queue(2, 10)
	db.untilDelivered(other, 2, 10)
	require.Empty(t, paused.seen)

	_, err = db.Subscriptions.SetDestinationState(t.Context(), "d1", delivery.DestinationReady, ada)
	require.NoError(t, err)
	began := time.Now()
	db.queue(2, 10)
	db.untilDelivered(other, 2, 20)
	t.Logf("the other one: %s", time.Since(began))
	db.untilDelivered(paused, 1, n)
	took := time.Since(began)
	t.Logf("%d at %d/s: %s", n, perSecond, took)
	require.NoError(t, d.Stop(t.Context(), time.Minute))
	require.Len(t, paused.seen, n)
	require.GreaterOrEqual(t, took.Seconds(), float64(n-1)/float64(perSecond)-0.1)
}

// starts records when each attempt starts.
type starts struct {
	dispatch.Sender

	mu sync.Mutex
	at []time.Time
}

func (s *starts) Send(ctx context.Context, t delivery.Target, j delivery.Job, m delivery.Message) delivery.Result {
	s.mu.Lock()
	s.at = append(s.at, time.Now())
	s.mu.Unlock()
	return s.Sender.Send(ctx, t, j, m)
}

// Two processes process a queue at ten a second: no second has more, wherever it begins.
func TestARateHoldsInEverySpan(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := startEndpoint(t)
	db.endpoint(1, r)
	db.exec(`UPDATE destinations SET version = version + 100,
settings = settings || '{"in_flight": 64, "rate": {"requests": 10, "per": "1s"}}' WHERE id = 1`)
	db.exec(`UPDATE subscriptions_head SET version = version + 200`)
	db.queue(1, 30)
	sender := &starts{Sender: toThisMachine()}
	one, two := db.dispatcherWith(64, sender), db.dispatcherWith(64, sender)
	db.untilDelivered(r, 1, 30)
	require.NoError(t, one.Stop(t.Context(), time.Minute))
	require.NoError(t, two.Stop(t.Context(), time.Minute))
	require.Len(t, sender.at, 30)
	slices.SortFunc(sender.at, time.Time.Compare)
	for i, first := range sender.at[:20] {
		require.GreaterOrEqual(t, sender.at[i+10].Sub(first), time.Second)
	}
}

// A destination asks for two seconds: all attempts in flight have asked by then, nothing else is sent meanwhile, and everything
// is delivered by its first counted attempt.
func TestRetryAfterHoldsForTheWholeDestination(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := startEndpoint(t)
	r.after = "2"
	r.status.Store(http.StatusTooManyRequests)
	db.endpoint(1, r)
	db.queue(1, 30)
	sender := &starts{Sender: toThisMachine()}
	d := db.dispatcherWith(16, sender)
	<-r.came
	first := time.Now()
	r.status.Store(http.StatusOK)
	db.untilDelivered(r, 1, 30)
	require.NoError(t, d.Stop(t.Context(), time.Minute))
	require.Equal(t, 30, value[int](db, `SELECT sum(attempts) FROM deliveries`))
	paused := 0
	for _, at := range sender.at {
		if at.Sub(first) > time.Second && at.Sub(first) < 1900*time.Millisecond {
			paused++
		}
	}
	require.Zero(t, paused)
}

// A destination is replaced, and down for 20 seconds. With the default policy everything arrives within a minute, automatically.
func TestAShortOutageCostsLessThanAMinute(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := startEndpoint(t)
	r.status.Store(http.StatusServiceUnavailable)
	db.endpoint(1, r)
	db.exec(`UPDATE destinations SET version = version + 100, settings = settings - 'retry' - 'breaker' WHERE id = 1`)
	db.exec(`UPDATE subscriptions_head SET version = version + 200`)
	db.queue(1, 3)
	began := time.Now()
	d := db.dispatcher(16)
	<-r.came
	up := time.AfterFunc(20*time.Second, func() { r.status.Store(http.StatusOK) })
	defer up.Stop()
	db.untilDelivered(r, 1, 3)
	t.Logf("delivered after %s", time.Since(began))
	require.NoError(t, d.Stop(t.Context(), time.Minute))
	require.Less(t, time.Since(began), time.Minute)
}
