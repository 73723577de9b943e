package scale

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"

	"holdfast/bench/lab"
	"holdfast/bench/suite"
	"holdfast/persistence"
	"holdfast/providers"
)

// Phases returns the phases.
func Phases() []suite.Phase {
	of := func(name, about string, run func(context.Context, *suite.Suite) error) suite.Phase {
		return suite.Phase{Name: "scale-" + name, About: "Counts with " + about + ".", Long: true, Counts: true, Run: run}
	}
	return []suite.Phase{
		of("serve", "one serve and four", processes),
		of("providers", "the built-in definitions and 500", manyProviders),
		of("destinations", "one destination and 1,000, with a backlog", destinations),
		of("types", "one event type and 10,000", types),
	}
}

// world is an installation whose database counts.
type world struct {
	*suite.Suite

	database string
	environ  []string
	nodes    []*lab.Node
	endpoint *endpoint
	idle     usage // of restTime
}

// endpoint counts the deliveries that it accepts.
type endpoint struct {
	*httptest.Server

	refuses  atomic.Bool
	accepted atomic.Int64
}

func newEndpoint() *endpoint {
	e := &endpoint{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if e.refuses.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		e.accepted.Add(1)
	}))
	return e
}

// serving runs f with processes on a new database. Each of so many destinations gets every event.
func serving(
	ctx context.Context, s *suite.Suite, database string, serve, destinations int, environ []string, f func(*world) error,
) (err error) {
	w := &world{Suite: s, database: database, environ: environ, endpoint: newEndpoint()}
	defer w.endpoint.Close()
	s.Lab.Debug = true // a profile of the heap collects the garbage
	defer func() { s.Lab.Debug = s.Profile }()
	err = errors.Join(s.Lab.Migrate(ctx, database), s.Lab.CountPages(ctx, database),
		s.Lab.Exec(ctx, database, fmt.Sprintf(countWaits, database)))
	if err != nil {
		return err
	}
	store, err := persistence.Open(ctx, persistence.Config{
		URL: s.Lab.Postgres.URL(database), ApplicationName: "bench", MaxConns: 1,
	})
	if err != nil {
		return err
	}
	err = suite.Endpoints(destinations, &lab.Endpoint{URL: w.endpoint.URL})(ctx, store)
	store.Close()
	if err != nil {
		return err
	}
	defer func() {
		for _, n := range w.nodes {
			err = errors.Join(err, n.Stop())
		}
	}()
	for range serve {
		n, err := s.Lab.StartProduct(ctx, lab.Product{
			Role: suite.RoleServe, Database: database, Environ: append([]string{suite.Loopback}, environ...),
		})
		if err != nil {
			return err
		}
		w.nodes = append(w.nodes, n)
	}
	return f(w)
}

// rate is low enough that no event waits.
const rate = 20

// send sends events to all processes in turn, and waits until so many deliveries have arrived.
func (w *world) send(ctx context.Context, d suite.Drive, deliveries int64) error {
	want := w.endpoint.accepted.Load() + deliveries
	for _, n := range w.nodes {
		d.Targets = append(d.Targets, n.Ingress)
	}
	got, err := w.Send(ctx, d)
	if err == nil && got.OK != d.Count {
		err = fmt.Errorf("of %d events %d were accepted: %v %s", d.Count, got.OK, got.Statuses, got.FirstError)
	}
	return errors.Join(err, w.await(ctx, func() (bool, error) { return w.endpoint.accepted.Load() >= want, nil }))
}

func (w *world) await(ctx context.Context, isSo func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, suite.DrainLimit)
	defer cancel()
	return lab.Poll(ctx, isSo)
}

// awaitRows waits until a query counts at least n.
func (w *world) awaitRows(ctx context.Context, n int, query string) error {
	return w.await(ctx, func() (bool, error) {
		var rows int
		err := w.Lab.Ask(ctx, w.database, &rows, query)
		return rows >= n, err
	})
}

// event returns what an event with a delivery uses, and a minute at rest.
func (w *world) event(ctx context.Context) (one, minute usage, err error) {
	d := suite.Drive{}
	d.Rate, d.Count = rate, w.Scaled(100)
	if err = w.send(ctx, d, d.Count); err != nil { // fills pools and caches
		return one, minute, err
	}
	if minute, err = w.rest(ctx); err != nil {
		return one, minute, err
	}
	d.Count = w.Scaled(400)
	one, err = w.each(ctx, int(d.Count), func() error { return w.send(ctx, d, d.Count) })
	return one, minute, err
}

func processes(ctx context.Context, s *suite.Suite) error {
	var one, minute [2]usage
	for i, n := range []int{1, 4} {
		err := serving(ctx, s, fmt.Sprintf("scale_serve_%d", n), n, 1, nil, func(w *world) (err error) {
			one[i], minute[i], err = w.event(ctx)
			return err
		})
		if err != nil {
			return err
		}
	}
	compare(s, "an event", "4 serve", one[0], one[1], statements, pages, wal, allocations)
	compare(s, "a minute at rest", "4 serve", minute[0], minute[1])
	return nil
}

const allProviders = 500

func manyProviders(ctx context.Context, s *suite.Suite) error {
	builtIn, err := providers.Load("")
	if err != nil {
		return err
	}
	extra := filepath.Join(s.Dir, "definitions-500")
	if err := os.CopyFS(extra, os.DirFS(s.Lab.Definitions)); err != nil {
		return err
	}
	for n := len(builtIn.Names()); n < allProviders; n++ {
		text := fmt.Appendf(nil, "name: stripe-%d\nextends: stripe\nrate: null\n", n)
		if err := os.WriteFile(filepath.Join(extra, fmt.Sprintf("stripe-%d.yaml", n)), text, 0o600); err != nil {
			return err
		}
	}
	var one, minute [2]usage
	var started [2][4]float64
	names := [4]string{"CPU of a start, s", "allocations of a start", "live heap, MiB", "bytes of /metrics"}
	for i, environ := range [][]string{nil, {"HOLDFAST_PROVIDERS_DIR=" + extra}} {
		err := serving(ctx, s, fmt.Sprintf("scale_providers_%d", i), 1, 1, environ, func(w *world) (err error) {
			for k, name := range []string{"process_cpu_seconds_total", "go_memstats_mallocs_total"} {
				if started[i][k], err = metricOf(ctx, w.nodes[0], name); err != nil {
					return err
				}
			}
			if one[i], minute[i], err = w.event(ctx); err != nil {
				return err
			}
			started[i][2], started[i][3], err = w.memory(ctx)
			return err
		})
		if err != nil {
			return err
		}
	}
	for k, name := range names {
		s.Value(name, "", nil, started[0][k])
		s.Value(name+", 500 providers", "", nil, started[1][k])
	}
	compare(s, "an event", "500 providers", one[0], one[1], statements, pages, wal, allocations)
	compare(s, "a minute at rest", "500 providers", minute[0], minute[1], statements, pages)
	return nil
}

// memory returns the live heap of the first process in MiB, and the size of its metrics in bytes.
func (w *world) memory(ctx context.Context) (heap, metrics float64, err error) {
	n := w.nodes[0]
	if _, err := n.Get(ctx, n.Debug+"/debug/pprof/heap?gc=1"); err != nil {
		return 0, 0, err
	}
	heap, err = metricOf(ctx, n, "go_memstats_heap_alloc_bytes")
	page, failed := n.Get(ctx, n.Operator+"/metrics")
	return heap / (1 << 20), float64(len(page)), errors.Join(err, failed)
}
