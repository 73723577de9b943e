package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
	"holdfast/bench/yardstick"
)

// The ruler: what is compared takes turns in short slices, so that a machine that is faster now and slower in a minute is so
// for both. The ratio is taken of slices that were taken one after the other, and the median of these pairs counts.
const (
	sliceTime = 2 * time.Second
	// pacedTime is that of a slice at a rate that leaves the machine idle: what it does on its own counts less there.
	pacedTime = 2500 * time.Millisecond
	// stolenMost is the share of the machine's time that its host may give to others in a slice that counts. One that it gave
	// more of is thrown away, and another is taken; in a phase so many times as half of its pairs.
	stolenMost = 0.05
)

// side is one of those that take turns.
type side struct {
	name string
	take func(ctx context.Context) (slice, error)
}

// slice is what some seconds of a side have shown.
type slice struct {
	// rate is in a second.
	rate float64
	// cost is CPU time in ms for each, by process.
	cost map[string]float64
	// p50 and p99 of the time until a request was acknowledged or a start confirmed, and of the time from there until the event
	// was processed; in ms.
	p50, p99, done50, done99 float64
	// spooled is the share of events that were acknowledged by the inbox.
	spooled float64
}

func rateOf(s *slice) float64 { return s.rate }
func cpuOf(s *slice) float64  { return sum(s.cost) }
func p50Of(s *slice) float64  { return s.p50 }
func p99Of(s *slice) float64  { return s.p99 }

func databaseOf(s *slice) float64 { return s.cost[lab.DatabaseLabel(lab.ProductDatabase)] }
func spooledOf(s *slice) float64  { return s.spooled }

// turns are the slices of each side in the order of the pairs; nil is one that was thrown away.
type turns map[string][]*slice

// alternate has the sides take turns, in one order and then in the other. Before, each warms up.
func (s *suite) alternate(ctx context.Context, sides ...side) (turns, error) {
	all := turns{}
	left := s.pairs / 2
	for n := range s.pairs + 1 {
		for _, side := range sides {
			if n == 0 {
				if _, err := side.take(ctx); err != nil {
					return nil, fmt.Errorf("warm up %s: %w", side.name, err)
				}
				continue
			}
			one, err := s.take(ctx, side, &left)
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

// take takes a slice, and another one for as long as too much is stolen and some are left; nil if that was so to the end.
func (s *suite) take(ctx context.Context, side side, left *int) (*slice, error) {
	for {
		before := s.machineTime()
		one, err := side.take(ctx)
		if err != nil {
			return nil, err
		}
		stolen := s.machineTime().StolenSince(before)
		kept := stolen <= stolenMost
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

// ratios are those of the pairs of which both slices were kept.
func (t turns) ratios(over, under string, value func(*slice) float64) (all []float64) {
	for i, a := range t[over] {
		if b := t[under][i]; a != nil && b != nil && value(b) > 0 {
			all = append(all, value(a)/value(b))
		}
	}
	return all
}

// values are those of a side's slices that were kept.
func (t turns) values(side string, value func(*slice) float64) (all []float64) {
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

// loaded is a side that sends a load to the product, for as long as that lasts.
func (s *suite) loaded(name string, d drive) side {
	return side{name, func(ctx context.Context) (slice, error) {
		got, err := s.drive(ctx, d)
		return sliceOf(got), err
	}}
}

func sliceOf(got driven) slice {
	delete(got.used, lab.LabelYardstick) // it waits
	return slice{
		rate: got.perSecond(), cost: cost(got.used, got.result.Events),
		p50: milliseconds(got.result.Latency.P50), p99: milliseconds(got.result.Latency.P99),
		done50: milliseconds(got.report.Timing.FromAck.P50), done99: milliseconds(got.report.Timing.FromAck.P99),
		spooled: float64(got.result.Spooled) / float64(max(got.result.Events, 1)),
	}
}

// asked is a side that asks a part, at a rate or, with 0, for as much as it can.
func (s *suite) asked(name string, p *part, rate float64) side {
	return side{name, func(ctx context.Context) (slice, error) {
		length := sliceTime
		if rate > 0 {
			length = pacedTime
		}
		got, used, err := p.measure(ctx, yardstick.Slice{Length: s.lasting(length), Rate: rate})
		delete(used, lab.LabelHoldfast) // it waits
		return slice{rate: got.PerSecond, cost: cost(used, got.Count), p50: milliseconds(got.P50), p99: milliseconds(got.P99)}, err
	}}
}
