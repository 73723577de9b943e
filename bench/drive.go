package main

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

// The default load, that of the table in docs/internals/benchmarks.md.
const (
	connections = 32
	bodySize    = 600
	entities    = 1000
	eventType   = "customer.updated"
)

// drainLimit bounds the wait for the last event.
const drainLimit = 10 * time.Minute

// drive is a load on the product with a database.
type drive struct {
	loadgen.Options

	database string
	nodes    []*lab.Node // their counters show the progress
	provider string
	// inInbox is set while Temporal is down, so that events stay in the inbox and are checked there.
	inInbox bool
	// expect is called before the load; its result waits for the deliveries. It is nil without deliveries.
	expect func() awaitDeliveries
	// idle makes the load wait for timers before its CPU is read; nil for a second only.
	idle idle
}

// awaitDeliveries waits until this many processed events have been delivered, and returns the time of the last delivery.
type awaitDeliveries func(ctx context.Context, events int64) (time.Time, error)

// driven is the result of a load.
type driven struct {
	result loadgen.Result
	report ledger.Report
	used   lab.Usage
	begun  time.Time
	ended  time.Time // when the last event was processed and the servers had settled
	// delivered is the time of the last delivery; zero without deliveries.
	delivered time.Time
	ledger    string // its file
}

// perSecond is the rate of processed events, from the first request to the last event or, if they are delivered, to the last
// delivery.
func (d driven) perSecond() float64 {
	if !d.delivered.IsZero() {
		return float64(d.result.Events) / d.delivered.Sub(d.begun).Seconds()
	}
	return d.report.Timing.PerSecond
}

// cost returns the CPU time in ms for each of n, without the load generator.
func cost(used lab.Usage, n int64) map[string]float64 {
	each := map[string]float64{}
	for label, d := range used {
		if label != lab.LabelLoad {
			each[label] = float64(d) / float64(time.Millisecond) / float64(max(n, 1))
		}
	}
	return each
}

// charge adds the CPU time for each of n to the costs of the phase.
func (s *suite) charge(name string, used lab.Usage, n int64) {
	s.phase.Costs = append(s.phase.Costs, figures.Cost{Name: name, Labels: cost(used, n)})
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }

func sum(costs map[string]float64) (total float64) {
	for _, v := range costs {
		total += v
	}
	return total
}

// drive sends a load, waits until all of it is processed, and checks the ledger. A lost or duplicated event is an error.
func (s *suite) drive(ctx context.Context, d drive) (got driven, err error) {
	generator, written, path, err := s.generator(&d)
	if err != nil {
		return got, err
	}
	processed, err := processed(ctx, d.nodes)
	if err != nil {
		return got, err
	}
	var deliveries awaitDeliveries
	if d.expect != nil {
		deliveries = d.expect()
	}
	before := s.lab.Meter.Sample()
	got.begun = before.At
	if got.result, err = generator.Run(ctx); err != nil {
		return got, err
	}
	if err := errors.Join(written.Close(), ctx.Err()); err != nil {
		return got, err
	}
	if !d.inInbox {
		err = s.awaitProcessed(ctx, d.nodes, processed+got.result.Accepted+got.result.Spooled)
	}
	if err == nil && deliveries != nil {
		got.delivered, err = deliveries(ctx, got.result.Accepted+got.result.Spooled)
	}
	if err != nil {
		return got, err
	}
	after, used, err := s.used(ctx, before, d.idle)
	if err != nil {
		return got, err
	}
	got.ended, got.used, got.ledger = after.At, used, path
	got.report, err = s.check(ctx, d, path)
	return got, err
}

// generator prepares the load and its ledger.
func (s *suite) generator(d *drive) (g *loadgen.Generator, written *ledger.Writer, path string, err error) {
	s.fillIn(d)
	path = filepath.Join(s.dir, fmt.Sprintf("ledger-%d.jsonl", s.drives))
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

// send sends a load to a server other than the product in the same way: it writes a ledger, which isn't checked.
func (s *suite) send(ctx context.Context, d drive) (r loadgen.Result, err error) {
	generator, written, _, err := s.generator(&d)
	if err != nil {
		return r, err
	}
	r, err = generator.Run(ctx)
	return r, errors.Join(err, written.Close())
}

func (s *suite) fillIn(d *drive) {
	set(&d.Connections, connections)
	set(&d.Entities, entities)
	set(&d.Run, loadgen.RandomRun())
	set(&d.provider, stripe)
	set(&d.database, lab.ProductDatabase)
	set(&d.Timeout, 10*time.Second)
	if len(d.Targets) == 0 {
		d.Targets = []string{d.nodes[0].Ingress}
	}
	if len(d.Mix) == 0 {
		set(&d.BodySize, bodySize)
		provider, _ := s.catalogue.Lookup(d.provider)
		d.Mix = []loadgen.Share{{Provider: provider, Type: eventType}}
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

// takeProfile sends a load again while it profiles the first node, if profiles are wanted. It measures nothing.
func (s *suite) takeProfile(ctx context.Context, name string, d drive) error {
	if !s.profile {
		return nil
	}
	d.Duration, d.Count = profileTime, 0
	taken := make(chan error, 1)
	go func() { taken <- d.nodes[0].CaptureProfiles(ctx, filepath.Dir(s.dir), name, profileTime) }()
	_, err := s.drive(ctx, d)
	return errors.Join(err, <-taken)
}

// processedSeries matches the counter of a worker's finished events in Prometheus's text format.
var processedSeries = regexp.MustCompile(`(?m)^holdfast_event_duration_seconds_count\{[^}]*\} (\S+)$`)

// processed returns how many events the nodes have finished.
func processed(ctx context.Context, nodes []*lab.Node) (n int64, err error) {
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
// costs more.
const (
	lookEvery  = 200 * time.Millisecond
	standstill = 3 * time.Second
)

// awaitProcessed waits until the nodes have finished this many events, or stopped making progress.
func (s *suite) awaitProcessed(ctx context.Context, nodes []*lab.Node, want int64) error {
	ctx, cancel := context.WithTimeout(ctx, drainLimit)
	defer cancel()
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	last, since := int64(-1), time.Now()
	for {
		n, err := processed(ctx, nodes)
		if err != nil || n >= want {
			return err
		}
		if n != last {
			last, since = n, time.Now()
		} else if time.Since(since) > standstill {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// check compares what was sent with what is stored.
func (s *suite) check(ctx context.Context, d drive, path string) (r ledger.Report, err error) {
	sent, err := ledger.ReadFile(path)
	if err != nil {
		return r, err
	}
	stored, err := check.Open(ctx, persistence.Config{URL: s.lab.Postgres.URL(d.database), ApplicationName: "bench"}, sent)
	if err != nil {
		return r, err
	}
	defer stored.Close()
	if !d.inInbox {
		if err := s.awaitFinished(ctx, stored); err != nil {
			return r, err
		}
	}
	deadline := time.Now().Add(tidyLimit)
	err = lab.Poll(ctx, func() (bool, error) {
		r, err = stored.Report(ctx)
		return d.inInbox || !isStuck(r) || time.Now().After(deadline), err
	})
	if err != nil {
		return r, err
	}
	return r, s.checkReport(r, d.inInbox)
}

func isStuck(r ledger.Report) bool {
	return slices.ContainsFunc(r.Findings, func(f ledger.Finding) bool { return f.Invariant == ledger.Stuck && f.Count > 0 })
}

// tidyLimit is how long the inbox may take, after the last event, to find that Temporal had accepted an event and to delete its
// row.
const tidyLimit = time.Minute

// awaitFinished waits until no acknowledged event is pending, for at most drainLimit; the report names the rest.
func (s *suite) awaitFinished(ctx context.Context, stored *check.Check) error {
	limited, cancel := context.WithTimeout(ctx, drainLimit)
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
func (s *suite) checkReport(r ledger.Report, inInbox bool) error {
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
	s.phase.Checks = append(s.phase.Checks, line)
	return nil
}

// serving runs f with a warmed-up product, and stops it.
func (s *suite) serving(ctx context.Context, database string, f func(*lab.Node) error) error {
	return s.servingLike(ctx, lab.Product{Role: roleServe, Database: database, Environ: []string{loopback}}, f)
}

const roleServe = "serve"

func (s *suite) servingLike(ctx context.Context, p lab.Product, f func(*lab.Node) error) error {
	node, err := s.lab.StartProduct(ctx, p)
	if err != nil {
		return err
	}
	err = s.warmUp(ctx, p.Database, node)
	if err == nil {
		err = f(node)
	}
	return errors.Join(err, node.Stop())
}

// warmUpEvents fill connection pools, caches and prepared statements.
const warmUpEvents = 300

func (s *suite) warmUp(ctx context.Context, database string, nodes ...*lab.Node) error {
	checks := len(s.phase.Checks)
	d := drive{database: database, nodes: nodes}
	d.Count = s.scaled(warmUpEvents)
	got, err := s.drive(ctx, d)
	if err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	if got.result.OK == 0 { // on a busy machine some may be refused during the start
		return fmt.Errorf("warm up: no request was accepted: %v %s", got.result.Statuses, got.result.FirstError)
	}
	s.phase.Checks = s.phase.Checks[:checks]
	return nil
}
