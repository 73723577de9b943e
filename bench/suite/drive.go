package suite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
	"holdfast/bench/loadgen"
	"holdfast/internal/ledger"
	"holdfast/internal/ledger/check"
	"holdfast/persistence"
)

// The default load, as in the table in docs/internals/benchmarks.md.
const (
	Connections = 32
	BodySize    = 600
	entities    = 1000
	EventType   = "customer.updated"
)

// DrainLimit bounds the wait for the last event.
const DrainLimit = 10 * time.Minute

// Drive is a load on the product with a database.
type Drive struct {
	loadgen.Options

	Database string
	Nodes    []*lab.Node // their counters show the progress
	provider string
	// InInbox is set while Temporal is down, so that events stay in the inbox and are checked there.
	InInbox bool
	// expect is called before the load; its result waits for the deliveries. It is nil without deliveries.
	expect func() awaitDeliveries
	// ByCounters reads the product's counters and no table: a build of another revision may have others.
	ByCounters bool
	// Idle makes the load wait for timers before its CPU is read; nil for a second only.
	Idle Idle
}

// awaitDeliveries waits until this many processed events have been delivered, and returns the time of the last delivery.
type awaitDeliveries func(ctx context.Context, events int64) (time.Time, error)

// Driven is the result of a load.
type Driven struct {
	Result loadgen.Result
	Report ledger.Report
	Used   lab.Usage
	begun  time.Time
	ended  time.Time // when the last event was processed and the servers had settled
	// delivered is the time of the last delivery; zero without deliveries. counted is when the counters had every event.
	delivered, counted time.Time
	Ledger             string // its file
}

// PerSecond is the rate of processed events, from the first request to the last event or, if they are delivered, to the last
// delivery.
func (d Driven) PerSecond() float64 {
	switch {
	case !d.delivered.IsZero():
		return float64(d.Result.Events) / d.delivered.Sub(d.begun).Seconds()
	case d.Report.Sent == 0: // the ledger wasn't checked
		return float64(d.Result.Events) / d.counted.Sub(d.begun).Seconds()
	default:
		return d.Report.Timing.PerSecond
	}
}

// Cost returns the CPU time in ms for each of n, without the load generator.
func Cost(used lab.Usage, n int64) map[string]float64 {
	each := map[string]float64{}
	for label, d := range used {
		if label != lab.LabelLoad {
			each[label] = float64(d) / float64(time.Millisecond) / float64(max(n, 1))
		}
	}
	return each
}

// Charge adds the CPU time for each of n to the costs of the phase.
func (s *Suite) Charge(name string, used lab.Usage, n int64) {
	s.Phase.Costs = append(s.Phase.Costs, figures.Cost{Name: name, Labels: Cost(used, n)})
}

// Milliseconds returns a duration in ms.
func Milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Mebibytes returns a number of bytes in MiB.
func Mebibytes(n int64) float64 { return float64(n) / (1 << 20) }

// Sum adds the costs of all labels.
func Sum(costs map[string]float64) (total float64) {
	for _, v := range costs {
		total += v
	}
	return total
}

// Drive sends a load, waits until all of it is processed, and checks the ledger. A lost or duplicated event is an error.
func (s *Suite) Drive(ctx context.Context, d Drive) (got Driven, err error) {
	generator, written, path, err := s.generator(&d)
	if err != nil {
		return got, err
	}
	processed, err := Processed(ctx, d.Nodes)
	if err != nil {
		return got, err
	}
	var deliveries awaitDeliveries
	if d.expect != nil {
		deliveries = d.expect()
	}
	before := s.Lab.Meter.Sample()
	got.begun = before.At
	if got.Result, err = generator.Run(ctx); err != nil {
		return got, err
	}
	if err := errors.Join(written.Close(), ctx.Err()); err != nil {
		return got, err
	}
	if !d.InInbox {
		got.counted, err = s.awaitProcessed(ctx, d, processed+got.Result.Accepted+got.Result.Spooled)
	}
	if err == nil && deliveries != nil {
		got.delivered, err = deliveries(ctx, got.Result.Accepted+got.Result.Spooled)
	}
	if err != nil {
		return got, err
	}
	after, used, err := s.Used(ctx, before, d.Idle)
	if err != nil {
		return got, err
	}
	got.ended, got.Used, got.Ledger = after.At, used, path
	if d.ByCounters {
		return got, nil
	}
	got.Report, err = s.check(ctx, d, path)
	return got, err
}

// generator prepares the load and its ledger.
func (s *Suite) generator(d *Drive) (g *loadgen.Generator, written *ledger.Writer, path string, err error) {
	s.fillIn(d)
	path = filepath.Join(s.Dir, fmt.Sprintf("ledger-%d.jsonl", s.drives))
	s.drives++
	if written, err = ledger.Open(path, ledger.Run{ID: d.Run, Started: time.Now(), Seed: d.Seed}); err != nil {
		return nil, nil, "", err
	}
	d.Ledger = written
	if g, err = loadgen.New(d.Options); err != nil {
		return nil, nil, "", errors.Join(err, written.Close())
	}
	return g, written, path, nil
}

// Send sends a load to a server other than the product in the same way: it writes a ledger, which isn't checked.
func (s *Suite) Send(ctx context.Context, d Drive) (r loadgen.Result, err error) {
	generator, written, _, err := s.generator(&d)
	if err != nil {
		return r, err
	}
	r, err = generator.Run(ctx)
	return r, errors.Join(err, written.Close())
}

// Alongside begins to send a load next to another one, and returns a function that waits for its end. Neither its CPU nor its
// ledger counts.
func (s *Suite) Alongside(ctx context.Context, d Drive) (wait func() error, err error) {
	generator, written, _, err := s.generator(&d)
	if err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() {
		_, err := generator.Run(ctx)
		ended <- errors.Join(err, written.Close())
	}()
	return func() error { return <-ended }, nil
}

func (s *Suite) fillIn(d *Drive) {
	set(&d.Connections, Connections)
	set(&d.Entities, entities)
	set(&d.Run, loadgen.RandomRun())
	set(&d.provider, Stripe)
	set(&d.Database, lab.ProductDatabase)
	set(&d.Timeout, 10*time.Second)
	if len(d.Targets) == 0 {
		d.Targets = []string{d.Nodes[0].Ingress}
	}
	if len(d.Mix) == 0 {
		set(&d.BodySize, BodySize)
		provider, _ := s.catalogue.Lookup(d.provider)
		d.Mix = []loadgen.Share{{Provider: provider, Type: EventType}}
	}
}

func set[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

// profileTime is the length of a profile.
const profileTime = 10 * time.Second

// TakeProfile sends a load again while it profiles the first node, if profiles are wanted. It measures nothing.
func (s *Suite) TakeProfile(ctx context.Context, name string, d Drive) error {
	if !s.Profile {
		return nil
	}
	d.Duration, d.Count = profileTime, 0
	taken := make(chan error, 1)
	go func() { taken <- d.Nodes[0].CaptureProfiles(ctx, filepath.Dir(s.Dir), name, profileTime) }()
	_, err := s.Drive(ctx, d)
	return errors.Join(err, <-taken)
}

// processedSeries matches the counter of a worker's finished events in Prometheus's text format.
var processedSeries = regexp.MustCompile(`(?m)^holdfast_event_duration_seconds_count\{[^}]*\} (\S+)$`)

// Processed returns how many events the nodes have finished.
func Processed(ctx context.Context, nodes []*lab.Node) (n int64, err error) {
	for _, node := range nodes {
		page, err := node.Get(ctx, node.Operator+"/metrics")
		if err != nil {
			return 0, err
		}
		for _, series := range processedSeries.FindAllSubmatch(page, -1) {
			v, err := strconv.ParseFloat(string(series[1]), 64)
			if err != nil {
				return 0, fmt.Errorf("read %s: %w", series[0], err)
			}
			n += int64(v)
		}
	}
	return n, nil
}

// The pauses between two reads of the counters, and how long they must be unchanged before the ledger is checked instead, which
// costs more, or the load has failed. The inbox and retries may pause for longer than the first on a busy machine.
const (
	lookEvery   = 200 * time.Millisecond
	countEvery  = 50 * time.Millisecond // where the counters say when the last event was processed
	standstill  = 3 * time.Second
	failedAfter = time.Minute
)

// awaitProcessed waits until the nodes have finished this many events, and returns the time. If they stop making progress, it
// returns an error or, if the ledger is checked, leaves that to the ledger.
func (s *Suite) awaitProcessed(ctx context.Context, d Drive, want int64) (at time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, DrainLimit)
	defer cancel()
	every, unchanged := lookEvery, standstill
	if d.ByCounters {
		every, unchanged = countEvery, failedAfter
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	last, since := int64(-1), time.Now()
	for {
		n, err := Processed(ctx, d.Nodes)
		if err != nil || n >= want {
			return time.Now(), err
		}
		if n != last {
			last, since = n, time.Now()
		} else if time.Since(since) > unchanged {
			if d.ByCounters {
				err = fmt.Errorf("%d of %d events were processed", n, want)
			}
			return since, err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return at, ctx.Err()
		}
	}
}

// check compares what was sent with what is stored.
func (s *Suite) check(ctx context.Context, d Drive, path string) (r ledger.Report, err error) {
	sent, err := ledger.ReadFile(path)
	if err != nil {
		return r, err
	}
	stored, err := check.Open(ctx, persistence.Config{URL: s.Lab.Postgres.URL(d.Database), ApplicationName: "bench"}, sent)
	if err != nil {
		return r, err
	}
	defer stored.Close()
	if !d.InInbox {
		if err := s.awaitFinished(ctx, stored); err != nil {
			return r, err
		}
	}
	deadline := time.Now().Add(tidyLimit)
	err = lab.Poll(ctx, func() (bool, error) {
		r, err = stored.Report(ctx)
		return d.InInbox || !isStuck(r) || time.Now().After(deadline), err
	})
	if err != nil {
		return r, err
	}
	return r, s.checkReport(r, d.InInbox)
}

func isStuck(r ledger.Report) bool {
	return slices.ContainsFunc(r.Findings, func(f ledger.Finding) bool { return f.Invariant == ledger.Stuck && f.Count > 0 })
}

// tidyLimit is how long the inbox may take, after the last event, to find that Temporal had accepted an event and to delete its
// row.
const tidyLimit = time.Minute

// awaitFinished waits until no acknowledged event is pending, for at most drainLimit; the report names the rest.
func (s *Suite) awaitFinished(ctx context.Context, stored *check.Check) error {
	limited, cancel := context.WithTimeout(ctx, DrainLimit)
	defer cancel()
	err := lab.Poll(limited, func() (bool, error) {
		left, err := stored.Unfinished(limited)
		return left == 0, err
	})
	if limited.Err() != nil && ctx.Err() == nil {
		return nil
	}
	return err
}

// checkReport checks the report of a load: no event is lost or duplicated. Events that are deliberately in the inbox don't
// count as stuck.
func (s *Suite) checkReport(r ledger.Report, inInbox bool) error {
	var broken []string
	for _, f := range r.Findings {
		if f.Broken() && (!inInbox || f.Invariant != ledger.Stuck) {
			broken = append(broken, fmt.Sprintf("%s: %d (%s)", f.Invariant, f.Count, strings.Join(f.Examples, " ")))
		}
	}
	if len(broken) > 0 {
		return fmt.Errorf("the ledger does not agree with what is stored: %s", strings.Join(broken, "; "))
	}
	if r.Dead > 0 {
		return fmt.Errorf("%d events have become dead letters", r.Dead)
	}
	line := fmt.Sprintf("%d sent, %d acknowledged, %d processed, %d waiting, 0 lost, 0 twice",
		r.Sent, r.Acknowledged, r.Processed, r.Waiting)
	s.Phase.Checks = append(s.Phase.Checks, line)
	return nil
}

// Serving runs f with a warmed-up product, and stops it.
func (s *Suite) Serving(ctx context.Context, database string, f func(*lab.Node) error) error {
	return s.ServingLike(ctx, lab.Product{Role: RoleServe, Database: database, Environ: []string{Loopback}}, f)
}

// RoleServe is every role in one process.
const RoleServe = "serve"

// ServingLike is Serving with a configuration.
func (s *Suite) ServingLike(ctx context.Context, p lab.Product, f func(*lab.Node) error) error {
	node, err := s.Lab.StartProduct(ctx, p)
	if err != nil {
		return err
	}
	err = s.warmUp(ctx, p.Database, node)
	if err == nil {
		err = f(node)
	}
	return errors.Join(err, node.Stop())
}

// WarmUpEvents fill connection pools, caches and prepared statements.
const WarmUpEvents = 300

func (s *Suite) warmUp(ctx context.Context, database string, nodes ...*lab.Node) error {
	checks := len(s.Phase.Checks)
	d := Drive{Database: database, Nodes: nodes}
	d.Count = s.Scaled(WarmUpEvents)
	got, err := s.Drive(ctx, d)
	if err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	if got.Result.OK == 0 { // on a busy machine some may be refused during the start
		return fmt.Errorf("warm up: no request was accepted: %v %s", got.Result.Statuses, got.Result.FirstError)
	}
	s.Phase.Checks = s.Phase.Checks[:checks]
	return nil
}
