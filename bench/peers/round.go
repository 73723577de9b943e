package peers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/bench/lab"
	"holdfast/bench/loadgen"
)

// The times of a round.
const (
	// settle is how long after its last delivery a load is still charged for: timers of Temporal's workflow tasks last 10 s, and
	// Outpost writes its log every 10 s.
	settle = 11 * time.Second
	// The load at a low rate runs for paced. Its CPU is measured between steady and the end, when delayed work of earlier
	// events is as much as that of the measured events that comes later.
	pacedRate = 47
	paced     = 18 * time.Second
	steady    = 11 * time.Second
	// arrivalLimit bounds the wait for the deliveries of a load.
	arrivalLimit = 2 * time.Minute
	warmUpEvents = 300
)

// sample contains one round's measurements of a side.
type sample struct {
	DonePerSecond      float64
	FullCPU            float64
	WaitP50            float64
	WaitP99            float64
	PacedCPU           float64
	FannedPerSecond    float64
	FannedCPU          float64
	IdleCPU            float64
	IdleMemory         float64
	fullUsed, manyUsed charged
}

// charged is the CPU time of a load, including the settle time, for a number of things done.
type charged struct {
	used time.Duration
	n    float64
}

// each returns the CPU time of one in ms, without what the system uses in the settle time while it is idle.
func (c charged) each(idle float64) float64 {
	idleUsed := idle / 60 * settle.Seconds() * 1000
	return max(float64(c.used)/float64(time.Millisecond)-idleUsed, 0) / c.n
}

// measure measures all sides of a running system, then what it uses while it is idle.
func (r *runner) measure(ctx context.Context, s system) (map[string]sample, error) {
	got := map[string]sample{}
	for _, side := range s.sides() {
		if err := r.warmUp(ctx, side); err != nil {
			return nil, err
		}
	}
	for _, side := range s.sides() {
		one, err := r.measureSide(ctx, side)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", side.name, err)
		}
		got[side.name] = one
	}
	cpu, memory, err := r.idle(ctx)
	for name, one := range got {
		one.IdleCPU, one.IdleMemory = cpu, memory
		one.FullCPU, one.FannedCPU = one.fullUsed.each(cpu), one.manyUsed.each(cpu)
		got[name] = one
		r.say("  %s: %.4g/s, %.3g ms; %.3g/%.3g ms, %.3g ms; fan-out %.4g/s, %.3g ms; idle %.3g s/min, %.4g MiB", name,
			one.DonePerSecond, one.FullCPU, one.WaitP50, one.WaitP99, one.PacedCPU, one.FannedPerSecond, one.FannedCPU, cpu, memory)
	}
	return got, err
}

func (r *runner) measureSide(ctx context.Context, side side) (one sample, err error) {
	if one.DonePerSecond, one.fullUsed, err = r.closed(ctx, side.one, side.events, 1); err != nil {
		return one, fmt.Errorf("closed loop: %w", err)
	}
	if one.FannedPerSecond, one.manyUsed, err = r.closed(ctx, side.many, side.fanned, manyEndpoints); err != nil {
		return one, fmt.Errorf("fan-out: %w", err)
	}
	err = r.paced(ctx, side.one, &one)
	return one, err
}

// warmUp fills connection pools and caches.
func (r *runner) warmUp(ctx context.Context, side side) error {
	for _, t := range []struct {
		target

		events int64
		each   int64
	}{{side.one, warmUpEvents, 1}, {side.many, 3, manyEndpoints}} {
		r.arrivals.reset()
		s, err := r.send(ctx, t.target, func(o *loadgen.Options) { o.Count = t.events })
		if err == nil {
			err = r.await(ctx, s, t.each)
		}
		if err != nil {
			return fmt.Errorf("warm up %s: %w", side.name, err)
		}
	}
	return nil
}

// closed sends a number of events as fast as they are acknowledged. The rate counts deliveries, from the first request to
// the last arrival.
func (r *runner) closed(ctx context.Context, t target, events, each int64) (perSecond float64, c charged, err error) {
	r.arrivals.reset()
	before := r.lab.Meter.Sample()
	s, err := r.send(ctx, t, func(o *loadgen.Options) { o.Count = events })
	if err != nil {
		return 0, c, err
	}
	if err := r.await(ctx, s, each); err != nil {
		return 0, c, err
	}
	if err := sleep(ctx, settle); err != nil {
		return 0, c, err
	}
	used := r.lab.Meter.Sample().CPU.Sub(before.CPU)
	total, _, last := r.arrivals.count()
	c = charged{used.Total(lab.LabelLoad), float64(total)}
	return float64(total) / last.Sub(before.At).Seconds(), c, nil
}

// paced sends events at a low rate.
func (r *runner) paced(ctx context.Context, t target, one *sample) error {
	r.arrivals.reset()
	var from, to lab.Sample
	timer := time.AfterFunc(steady, func() { from = r.lab.Meter.Sample() })
	defer timer.Stop()
	s, err := r.send(ctx, t, func(o *loadgen.Options) { o.Rate, o.Duration = pacedRate, paced })
	if err != nil {
		return err
	}
	to = r.lab.Meter.Sample()
	used := to.CPU.Sub(from.CPU).Total(lab.LabelLoad)
	one.PacedCPU = float64(used) / float64(time.Millisecond) / (pacedRate * to.At.Sub(from.At).Seconds())
	if err := r.await(ctx, s, 1); err != nil {
		return err
	}
	o := r.arrivals.compare(s)
	one.WaitP50, one.WaitP99 = milliseconds(o.quantile(0.5)), milliseconds(o.quantile(0.99))
	return nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// idle measures the system without load: its CPU seconds in a minute, and its memory without PostgreSQL's.
func (r *runner) idle(ctx context.Context) (cpu, memory float64, err error) {
	if err := sleep(ctx, settle); err != nil {
		return 0, 0, err
	}
	from := r.lab.Meter.Sample()
	if err := sleep(ctx, r.Idle); err != nil {
		return 0, 0, err
	}
	to := r.lab.Meter.Sample()
	for label, size := range to.RSS {
		if label != lab.LabelLoad {
			memory += float64(size) / (1 << 20)
		}
	}
	return to.CPU.Sub(from.CPU).Total(lab.LabelLoad).Seconds() * 60 / to.At.Sub(from.At).Seconds(), memory, nil
}

// send sends a load, and returns what was acknowledged.
func (r *runner) send(ctx context.Context, t target, configure func(*loadgen.Options)) (*sent, error) {
	s := newSent()
	o, err := optionsFor(r.catalogue, t.provider, t.url, s)
	if err != nil {
		return nil, err
	}
	configure(&o)
	result, err := loadgen.Run(ctx, o)
	if err == nil && len(s.acked) == 0 {
		err = fmt.Errorf("no request was acknowledged: %v %s", result.Statuses, result.FirstError)
	}
	return s, errors.Join(err, ctx.Err())
}

// await waits until every acknowledged event has arrived at each endpoint.
func (r *runner) await(ctx context.Context, s *sent, each int64) error {
	limited, cancel := context.WithTimeout(ctx, arrivalLimit)
	defer cancel()
	want := int64(len(s.acked)) * each
	err := lab.Poll(limited, func() (bool, error) {
		total, events, _ := r.arrivals.count()
		return total >= want && events >= int64(len(s.acked)), nil
	})
	if err != nil {
		total, _, _ := r.arrivals.count()
		return fmt.Errorf("%d of %d deliveries have arrived: %w", total, want, err)
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
