package loadgen

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/internal/ledger"
)

// pauseAfterFailure keeps a closed-loop connection from spinning while the target is down.
const pauseAfterFailure = 20 * time.Millisecond

// Generator is one run.
type Generator struct {
	options  Options
	plan     *plan
	schedule schedule
	targets  []*target
	record   *record
	next     atomic.Int64
}

// New prepares a run. It returns an error for invalid options and unusable samples.
func New(o Options) (*Generator, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	g := &Generator{options: o, schedule: newSchedule(o), record: newRecord(time.Now())}
	for _, address := range o.Targets {
		g.targets = append(g.targets, newTarget(address, o))
	}
	if g.plan, err = newPlan(o); err != nil {
		return nil, err
	}
	if o.BadSignatures > 0 {
		err = g.tryForging()
	}
	return g, err
}

// tryForging finds providers without a signature to forge.
func (g *Generator) tryForging() error {
	for _, k := range g.plan.kinds {
		u, err := k.shapes[0].make([]string{"forged"}, "sample")
		if err != nil {
			return err
		}
		if _, err := g.targets[0].forge(k.shapes[0].provider, u.request, time.Now()); err != nil {
			return err
		}
	}
	return nil
}

// Run creates a Generator and runs it.
func Run(ctx context.Context, o Options) (Result, error) {
	g, err := New(o)
	if err != nil {
		return Result{}, err
	}
	return g.Run(ctx)
}

// RunID returns the ID of the run.
func (g *Generator) RunID() string { return g.options.Run }

// Counts returns the counts so far.
func (g *Generator) Counts() Counts { return g.record.snapshot() }

// Run sends until Duration or Count is reached or the context ends, and waits for the outstanding answers. It can be called
// once. The end of the context isn't an error; a ledger that can't be written is.
func (g *Generator) Run(ctx context.Context) (Result, error) {
	var (
		senders sync.WaitGroup
		once    sync.Once
		failed  error
	)
	g.record.started = time.Now()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for range g.options.Connections {
		senders.Go(func() {
			if err := newSender(g).run(ctx); err != nil {
				once.Do(func() { failed = err })
				stop()
			}
		})
	}
	senders.Wait()
	ended := time.Now()
	for _, t := range g.targets {
		t.client.CloseIdleConnections()
	}
	return g.record.result(g.options, ended), failed
}

// take waits until the next request is due and returns its number; ok is false at the end of the run.
func (g *Generator) take(ctx context.Context) (i int64, due time.Time, ok bool) {
	i = g.next.Add(1) - 1
	after := g.schedule.due(i)
	if g.options.Count > 0 && i >= g.options.Count {
		return 0, due, false
	}
	if g.options.Rate == 0 {
		after = time.Since(g.record.started)
	}
	if g.options.Duration > 0 && after >= g.options.Duration {
		return 0, due, false
	}
	due = g.record.started.Add(after)
	return i, due, wait(ctx, time.Until(due))
}

// wait returns false if the context ends first.
func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// note records the events of a request before it is sent.
func (g *Generator) note(i int64, kind ledger.Kind, events []ledger.Event) (time.Time, error) {
	now := time.Now()
	if g.options.Ledger == nil {
		return now, nil
	}
	if err := g.options.Ledger.Sending(i, now, kind, events); err != nil {
		return now, fmt.Errorf("note request %d: %w", i, err)
	}
	return now, nil
}
