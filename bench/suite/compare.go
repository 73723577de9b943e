package suite

import (
	"context"
	"fmt"
	"slices"
	"time"

	"holdfast/bench/baseline"
	"holdfast/bench/figures"
	"holdfast/bench/lab"
)

// The sides of a Comparison alternate in short slices, so that changes in the machine's speed affect both. Each ratio is of two
// consecutive slices, and the median of these pairs counts.
const (
	SliceTime = 2 * time.Second
	// PacedTime is the length of a slice at a rate that leaves the machine idle: background work counts less there.
	PacedTime = 2500 * time.Millisecond
	// LowRate is the rate of the comparison with other systems, in events per second: nothing waits for the machine.
	LowRate = 47
	// maxStolen is the maximum share of the machine's time that its host may use otherwise in a valid slice. A slice above it is
	// dropped and repeated, in a phase at most half as many times as there are pairs.
	maxStolen = 0.05
)

// Side is one side of a Comparison.
type Side struct {
	Name    string
	Measure func(ctx context.Context) (Slice, error)
}

// Slice has the measurements of some seconds of a side.
type Slice struct {
	// Rate is per second.
	Rate float64
	// Cost is CPU time in ms per item, by process.
	Cost map[string]float64
	// p50 and p99 are of the time until a request was acknowledged or a start confirmed, done50 and done99 of the time from there
	// until the event was processed; in ms.
	p50, p99, Done50, Done99 float64
	// spooled is the share of events acknowledged by the inbox.
	spooled float64
}

// RateOf returns the events per second of a slice.
func RateOf(s *Slice) float64 { return s.Rate }

// CPUOf returns the CPU time of an event, in ms.
func CPUOf(s *Slice) float64 { return Sum(s.Cost) }

// P50Of returns the median latency.
func P50Of(s *Slice) float64 { return s.p50 }

// P99Of returns the latency that one request in a hundred exceeds.
func P99Of(s *Slice) float64 { return s.p99 }

// DatabaseOf returns the CPU time of the product's database for an event, in ms.
func DatabaseOf(s *Slice) float64 { return s.Cost[lab.DatabaseLabel(lab.ProductDatabase)] }

// SpooledOf returns the share of events acknowledged by the inbox.
func SpooledOf(s *Slice) float64 { return s.spooled }

// Comparison has the slices of each side in the order of the pairs; nil for a dropped one.
type Comparison map[string][]*Slice

// Alternate runs the sides alternately, in one order and then in the other, after a warm-up of each.
func (s *Suite) Alternate(ctx context.Context, sides ...Side) (Comparison, error) {
	all := Comparison{}
	left := s.Pairs / 2
	for n := range s.Pairs + 1 {
		for _, side := range sides {
			if n == 0 {
				if _, err := side.Measure(ctx); err != nil {
					return nil, fmt.Errorf("warm up %s: %w", side.Name, err)
				}
				continue
			}
			one, err := s.measureSlice(ctx, side, &left)
			if err != nil {
				return nil, fmt.Errorf("%s, pair %d: %w", side.Name, n, err)
			}
			all[side.Name] = append(all[side.Name], one)
		}
		if n > 0 {
			slices.Reverse(sides)
		}
	}
	for _, side := range sides {
		s.chargeSlices(side.Name, all[side.Name])
	}
	return all, nil
}

// measureSlice measures a slice, and repeats it while too much time was stolen and repeats are left. It returns nil if that
// never succeeds.
func (s *Suite) measureSlice(ctx context.Context, side Side, left *int) (*Slice, error) {
	for {
		before := s.machineTime()
		one, err := side.Measure(ctx)
		if err != nil {
			return nil, err
		}
		stolen := s.machineTime().StolenSince(before)
		kept := stolen <= maxStolen
		s.Phase.Slices = append(s.Phase.Slices, figures.Slice{
			Side: side.Name, PerSecond: one.Rate, CPU: CPUOf(&one), Stolen: stolen, Kept: kept,
		})
		s.Say("  %s: %.4g /s, %.3g ms, %.1f %% stolen", side.Name, one.Rate, CPUOf(&one), 100*stolen)
		if kept {
			return &one, nil
		}
		if *left == 0 {
			return nil, nil
		}
		*left--
	}
}

// Ratios returns the ratios of the pairs with both slices kept.
func (t Comparison) Ratios(over, under string, value func(*Slice) float64) (all []float64) {
	for i, a := range t[over] {
		if b := t[under][i]; a != nil && b != nil && value(b) > 0 {
			all = append(all, value(a)/value(b))
		}
	}
	return all
}

// Values returns the values of a side's kept slices.
func (t Comparison) Values(side string, value func(*Slice) float64) (all []float64) {
	for _, one := range t[side] {
		if one != nil {
			all = append(all, value(one))
		}
	}
	return all
}

// chargeSlices adds the mean of a side's slices to the costs of the phase.
func (s *Suite) chargeSlices(name string, all []*Slice) {
	all = slices.DeleteFunc(slices.Clone(all), func(one *Slice) bool { return one == nil })
	mean := map[string]float64{}
	for _, one := range all {
		for label, each := range one.Cost {
			mean[label] += each / float64(len(all))
		}
	}
	if len(mean) > 0 {
		s.Phase.Costs = append(s.Phase.Costs, figures.Cost{Name: name, Labels: mean})
	}
}

// Loaded returns a side that sends a load to the product.
func (s *Suite) Loaded(name string, d Drive) Side {
	return Side{name, func(ctx context.Context) (Slice, error) {
		got, err := s.Drive(ctx, d)
		return SliceOf(got), err
	}}
}

// Paced returns a side of delivered events at LowRate. waits returns the time from the answer to the arrival of each event in a
// ledger, in ms; Done50 and Done99 are of these.
func (s *Suite) Paced(name string, d Drive, e *lab.Endpoint, waits func(path string) ([]float64, error)) Side {
	d.Rate, d.Duration = LowRate, s.Lasting(PacedTime)
	return Side{name, func(ctx context.Context) (Slice, error) {
		e.Remember()
		got, err := s.Drive(ctx, d)
		if err != nil {
			return Slice{}, err
		}
		all, err := waits(got.Ledger)
		one := SliceOf(got)
		slices.Sort(all)
		if len(all) > 0 {
			one.Done50, one.Done99 = all[len(all)/2], all[len(all)*99/100]
		}
		return one, err
	}}
}

// SliceOf returns the measurements of a load.
func SliceOf(got Driven) Slice {
	delete(got.Used, lab.LabelBaseline) // it is idle
	return Slice{
		Rate: got.PerSecond(), Cost: Cost(got.Used, got.Result.Events),
		p50: Milliseconds(got.Result.Latency.P50), p99: Milliseconds(got.Result.Latency.P99),
		Done50: Milliseconds(got.Report.Timing.FromAck.P50), Done99: Milliseconds(got.Report.Timing.FromAck.P99),
		spooled: float64(got.Result.Spooled) / float64(max(got.Result.Events, 1)),
	}
}

// Asked returns a side that uses a part, at a rate or, with 0, as fast as possible.
func (s *Suite) Asked(name string, p *Part, rate float64) Side {
	return s.AskedSettled(name, p, rate, nil)
}

// AskedSettled is asked with a wait for timers.
func (s *Suite) AskedSettled(name string, p *Part, rate float64, i Idle) Side {
	return Side{name, func(ctx context.Context) (Slice, error) {
		length := SliceTime
		if rate > 0 {
			length = PacedTime
		}
		got, used, err := p.measure(ctx, baseline.Slice{Length: s.Lasting(length), Rate: rate}, i)
		delete(used, lab.LabelHoldfast) // it is idle
		return Slice{Rate: got.PerSecond, Cost: Cost(used, got.Count), p50: Milliseconds(got.P50), p99: Milliseconds(got.P99)}, err
	}}
}

// Differences returns the additional CPU cost of one side over the other, in ms, for the pairs with both slices kept.
func (t Comparison) Differences(over, under string) (all []float64) {
	for i, a := range t[over] {
		if b := t[under][i]; a != nil && b != nil {
			all = append(all, CPUOf(a)-CPUOf(b))
		}
	}
	return all
}
