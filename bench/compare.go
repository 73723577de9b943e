package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"holdfast/bench/baseline"
	"holdfast/bench/figures"
	"holdfast/bench/lab"
)

// The sides of a comparison alternate in short slices, so that changes in the machine's speed affect both. Each ratio is of two
// consecutive slices, and the median of these pairs counts.
const (
	sliceTime = 2 * time.Second
	// pacedTime is the length of a slice at a rate that leaves the machine idle: background work counts less there.
	pacedTime = 2500 * time.Millisecond
	// maxStolen is the maximum share of the machine's time that its host may use otherwise in a valid slice. A slice above it is
	// dropped and repeated, in a phase at most half as many times as there are pairs.
	maxStolen = 0.05
)

// side is one side of a comparison.
type side struct {
	name    string
	measure func(ctx context.Context) (slice, error)
}

// slice has the measurements of some seconds of a side.
type slice struct {
	// rate is per second.
	rate float64
	// cost is CPU time in ms per item, by process.
	cost map[string]float64
	// p50 and p99 are of the time until a request was acknowledged or a start confirmed, done50 and done99 of the time from there
	// until the event was processed; in ms.
	p50, p99, done50, done99 float64
	// spooled is the share of events acknowledged by the inbox.
	spooled float64
}

func rateOf(s *slice) float64 { return s.rate }
func cpuOf(s *slice) float64  { return sum(s.cost) }
func p50Of(s *slice) float64  { return s.p50 }
func p99Of(s *slice) float64  { return s.p99 }

func databaseOf(s *slice) float64 { return s.cost[lab.DatabaseLabel(lab.ProductDatabase)] }
func spooledOf(s *slice) float64  { return s.spooled }

// comparison has the slices of each side in the order of the pairs; nil for a dropped one.
type comparison map[string][]*slice

// alternate runs the sides alternately, in one order and then in the other, after a warm-up of each.
func (s *suite) alternate(ctx context.Context, sides ...side) (comparison, error) {
	all := comparison{}
	left := s.pairs / 2
	for n := range s.pairs + 1 {
		for _, side := range sides {
			if n == 0 {
				if _, err := side.measure(ctx); err != nil {
					return nil, fmt.Errorf("warm up %s: %w", side.name, err)
				}
				continue
			}
			one, err := s.measureSlice(ctx, side, &left)
			if err != nil {
				return nil, fmt.Errorf("%s, pair %d: %w", side.name, n, err)
			}
			all[side.name] = append(all[side.name], one)
		}
		if n > 0 {
			slices.Reverse(sides)
		}
	}
	for _, side := range sides {
		s.chargeSlices(side.name, all[side.name])
	}
	return all, nil
}

// measureSlice measures a slice, and repeats it while too much time was stolen and repeats are left. It returns nil if that
// never succeeds.
func (s *suite) measureSlice(ctx context.Context, side side, left *int) (*slice, error) {
	for {
		before := s.machineTime()
		one, err := side.measure(ctx)
		if err != nil {
			return nil, err
		}
		stolen := s.machineTime().StolenSince(before)
		kept := stolen <= maxStolen
		s.phase.Slices = append(s.phase.Slices, figures.Slice{
			Side: side.name, PerSecond: one.rate, CPU: cpuOf(&one), Stolen: stolen, Kept: kept,
		})
		s.say("  %s: %.4g /s, %.3g ms, %.1f %% stolen", side.name, one.rate, cpuOf(&one), 100*stolen)
		if kept {
			return &one, nil
		}
		if *left == 0 {
			return nil, nil
		}
		*left--
	}
}

// ratios returns those of the pairs with both slices kept.
func (t comparison) ratios(over, under string, value func(*slice) float64) (all []float64) {
	for i, a := range t[over] {
		if b := t[under][i]; a != nil && b != nil && value(b) > 0 {
			all = append(all, value(a)/value(b))
		}
	}
	return all
}

// values returns those of a side's kept slices.
func (t comparison) values(side string, value func(*slice) float64) (all []float64) {
	for _, one := range t[side] {
		if one != nil {
			all = append(all, value(one))
		}
	}
	return all
}

// chargeSlices adds the mean of a side's slices to the costs of the phase.
func (s *suite) chargeSlices(name string, all []*slice) {
	all = slices.DeleteFunc(slices.Clone(all), func(one *slice) bool { return one == nil })
	mean := map[string]float64{}
	for _, one := range all {
		for label, each := range one.cost {
			mean[label] += each / float64(len(all))
		}
	}
	if len(mean) > 0 {
		s.phase.Costs = append(s.phase.Costs, figures.Cost{Name: name, Labels: mean})
	}
}

// loaded returns a side that sends a load to the product.
func (s *suite) loaded(name string, d drive) side {
	return side{name, func(ctx context.Context) (slice, error) {
		got, err := s.drive(ctx, d)
		return sliceOf(got), err
	}}
}

func sliceOf(got driven) slice {
	delete(got.used, lab.LabelBaseline) // it is idle
	return slice{
		rate: got.perSecond(), cost: cost(got.used, got.result.Events),
		p50: milliseconds(got.result.Latency.P50), p99: milliseconds(got.result.Latency.P99),
		done50: milliseconds(got.report.Timing.FromAck.P50), done99: milliseconds(got.report.Timing.FromAck.P99),
		spooled: float64(got.result.Spooled) / float64(max(got.result.Events, 1)),
	}
}

// asked returns a side that uses a part, at a rate or, with 0, as fast as possible.
func (s *suite) asked(name string, p *part, rate float64) side {
	return s.askedSettled(name, p, rate, nil)
}

// askedSettled is asked with a wait for timers.
func (s *suite) askedSettled(name string, p *part, rate float64, i idle) side {
	return side{name, func(ctx context.Context) (slice, error) {
		length := sliceTime
		if rate > 0 {
			length = pacedTime
		}
		got, used, err := p.measure(ctx, baseline.Slice{Length: s.lasting(length), Rate: rate}, i)
		delete(used, lab.LabelHoldfast) // it is idle
		return slice{rate: got.PerSecond, cost: cost(used, got.Count), p50: milliseconds(got.P50), p99: milliseconds(got.P99)}, err
	}}
}
