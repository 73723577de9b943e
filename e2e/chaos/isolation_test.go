package chaos

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event/oversight"
	"holdfast/internal/ledger"
	"holdfast/persistence"
)

// The fan-out of isolation: each healthy event goes to all healthy destinations, each sick one to all sick ones.
const (
	healthyOnes   = 20
	healthyEvery  = 200 * time.Millisecond
	sickEvery     = 2 * time.Second
	largeEvery    = time.Second
	largeBody     = 1 << 20
	baselineFor   = 15 * time.Second
	onsetPause    = 10 * time.Second
	isolationFor  = 40 * time.Second
	isolationPool = "HOLDFAST_DELIVERIES_SLOTS=256"
)

// sicknesses has the number of destinations for each kind of failure.
var sicknesses = map[string]int{
	"refuses": 40, "hangs": 40, "drips": 30, "answers_after_14s": 30, "hangs_with_1mb": 40, "has_no_name": 20,
}

// sickDestinationsDelayNoHealthyOnes measures the time from commit to request for healthy destinations, before and while 200
// others fail, all of which were healthy before.
func sickDestinationsDelayNoHealthyOnes(w *world) {
	i := &isolation{world: w, came: map[string]time.Time{}, closed: make(chan struct{})}
	i.open()
	defer i.end()
	i.sendAll()
	from := time.Now()
	w.sleep(baselineFor)
	baseline := i.p99(from, time.Now())

	i.sick.Store(true)
	w.t.Logf("sick: %v", sicknesses)
	require.NoError(w.t, i.refusing.Close())
	w.sleep(onsetPause)
	from = time.Now()
	w.sleep(isolationFor)
	w.sleep(time.Second) // the last commits have arrived
	beside := i.p99(from, time.Now().Add(-time.Second))

	limit := max(2*baseline, baseline+100*time.Millisecond)
	w.t.Logf("p99 from commit to POST of %d healthy destinations: %s alone, %s beside %d sick ones", healthyOnes,
		baseline.Round(time.Millisecond), beside.Round(time.Millisecond), len(i.names))
	require.LessOrEqual(w.t, beside, limit)
}

// isolation is the scenario's own state.
type isolation struct {
	*world

	sick     atomic.Bool
	refusing *http.Server
	servers  []*http.Server
	names    []string // of the sick destinations

	sending sync.WaitGroup
	closed  chan struct{}

	mu   sync.Mutex
	came map[string]time.Time // by destination and event
	sent int
}

func (i *isolation) open() {
	healthy := i.serve(func(r *http.Request) {
		i.mu.Lock()
		defer i.mu.Unlock()
		if key := r.URL.Path[1:] + " " + r.Header.Get("holdfast-event-id"); i.came[key].IsZero() {
			i.came[key] = time.Now()
		}
	})
	for n := range healthyOnes {
		i.destination(fmt.Sprintf("healthy-%d", n), healthy, "isolation.healthy")
	}
	refusing := i.serve(nil)
	i.refusing = i.servers[len(i.servers)-1]
	urls := map[string]string{
		"refuses": refusing, "hangs": i.serve(i.hangs), "drips": i.drips(), "answers_after_14s": i.serve(i.answersLate),
		"hangs_with_1mb": i.serve(i.hangs), "has_no_name": "http://nowhere.invalid",
	}
	for way, n := range sicknesses {
		for k := range n {
			name, kind := fmt.Sprintf("%s-%d", way, k), "isolation.sick"
			if way == "hangs_with_1mb" {
				kind = "isolation.large"
			}
			i.destination(name, urls[way], kind)
			i.names = append(i.names, name)
		}
	}
}

// serve opens an endpoint that answers when handle returns.
func (i *isolation) serve(handle func(*http.Request)) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(i.t, err)
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if handle != nil {
			handle(r)
		}
		_, _ = io.Copy(io.Discard, r.Body)
	})}
	i.servers = append(i.servers, server)
	go func() { _ = server.Serve(listener) }()
	return "http://" + listener.Addr().String()
}

func (i *isolation) hangs(r *http.Request) {
	if i.sick.Load() {
		select {
		case <-r.Context().Done():
		case <-i.closed:
		}
	}
}

func (i *isolation) answersLate(r *http.Request) {
	if i.sick.Load() {
		select {
		case <-r.Context().Done():
		case <-i.closed:
		case <-time.After(14 * time.Second):
		}
	}
}

// drips opens an endpoint that sends one byte of a header per second.
func (i *isolation) drips() string {
	url := i.serve(nil)
	server := i.servers[len(i.servers)-1]
	well := server.Handler
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !i.sick.Load() {
			well.ServeHTTP(w, r)
			return
		}
		connection, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer connection.Close()
		_, err = io.WriteString(connection, "HTTP/1.1 200 OK\r\nX-Drip: ")
		for err == nil {
			select {
			case <-i.closed:
				return
			case <-time.After(time.Second):
				_, err = io.WriteString(connection, "x")
			}
		}
	})
	return url
}

// destination creates one with the defaults, except that it never gives up.
func (i *isolation) destination(name, url, kind string) {
	i.inStore(func(ctx context.Context, s *persistence.Store) error {
		_, err := s.Subscriptions.ApplyDestination(ctx, delivery.Destination{
			Name: name, HTTP: &delivery.HTTP{URL: url + "/" + name}, Retry: delivery.Retry{Attempts: 1000},
		}, []delivery.Secret{{Value: standardSecret}}, oversight.Actor{Name: "chaos"})
		if err != nil {
			return err
		}
		_, err = s.Subscriptions.ApplySubscription(ctx, delivery.Subscription{
			Name: name, To: name, Active: true, Events: delivery.Events{Types: []string{kind}},
		}, oversight.Actor{Name: "chaos"})
		return err
	})
}

// sendAll sends events until end is called.
func (i *isolation) sendAll() {
	for kind, every := range map[string]time.Duration{
		"isolation.healthy": healthyEvery, "isolation.sick": sickEvery, "isolation.large": largeEvery,
	} {
		i.sending.Go(func() {
			tick := time.NewTicker(every)
			defer tick.Stop()
			for {
				select {
				case <-i.closed:
					return
				case <-tick.C:
					i.send(kind)
				}
			}
		})
	}
}

// send sends an event and waits for its answer.
func (i *isolation) send(kind string) {
	i.mu.Lock()
	i.sent++
	id := fmt.Sprintf("evt_%s_%s_%d", kind, i.name, i.sent)
	i.mu.Unlock()
	var text []byte
	if kind == "isolation.large" {
		text = bytes.Repeat([]byte("x"), largeBody)
	}
	m := message{provider: "stripe", key: id, body: fmt.Appendf(nil,
		`{"id":%q,"object":"event","created":%d,"type":%q,"data":{"object":{"id":%q,"object":"isolation","text":%q}}}`,
		id, time.Now().Unix(), kind, id, text)}
	i.load.deliver(i.load.note(m, ledger.KindEvent), m, ledger.KindEvent, i.load.doors[0])
}

// p99 covers the deliveries to healthy destinations that were committed in a period. A missing one counts as arriving now.
func (i *isolation) p99(from, to time.Time) time.Duration {
	ctx, cancel := context.WithTimeout(i.t.Context(), time.Minute)
	defer cancel()
	c, err := pgx.Connect(ctx, i.sql.url(i.name))
	require.NoError(i.t, err)
	defer c.Close(ctx)
	rows, err := c.Query(ctx, `
SELECT s.name || ' ' || q.event_id, q.queued_at
  FROM (SELECT event_id, subscription_id, queued_at FROM delivery_queue
         UNION ALL SELECT event_id, subscription_id, queued_at FROM deliveries) AS q
  JOIN subscriptions AS s ON s.id = q.subscription_id
 WHERE s.name LIKE 'healthy-%' AND q.queued_at BETWEEN $1 AND $2`, from, to)
	require.NoError(i.t, err)
	var all []time.Duration
	var arrived int
	var key string
	var queued time.Time
	i.mu.Lock()
	defer i.mu.Unlock()
	_, err = pgx.ForEachRow(rows, []any{&key, &queued}, func() error {
		came := i.came[key]
		if came.IsZero() {
			came = time.Now()
		} else {
			arrived++
		}
		all = append(all, came.Sub(queued))
		return nil
	})
	require.NoError(i.t, err)
	require.Greater(i.t, len(all), 500, "healthy deliveries in %s", to.Sub(from))
	require.Greater(i.t, arrived, len(all)/2, "of %d deliveries to healthy destinations", len(all))
	slices.Sort(all)
	i.t.Logf("%d healthy deliveries: p50 %s, p90 %s, max %s", len(all), all[len(all)/2], all[len(all)*9/10], all[len(all)-1])
	return all[len(all)*99/100]
}

// end removes the sick destinations with their queues.
func (i *isolation) end() {
	close(i.closed)
	i.sending.Wait()
	i.inStore(func(ctx context.Context, s *persistence.Store) error {
		for _, name := range i.names {
			if _, err := s.Subscriptions.DeleteSubscription(ctx, name, oversight.Actor{Name: "chaos", Reason: "chaos"}); err != nil {
				return err
			}
		}
		s.Outbox.CancelAllDeleted(ctx)
		return nil
	})
	i.t.Cleanup(func() {
		for _, server := range i.servers {
			_ = server.Close()
		}
	})
}
