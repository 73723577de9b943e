package main

import (
	"context"
	"errors"
	"slices"

	"holdfast/bench/baseline"
	"holdfast/bench/figures"
	"holdfast/bench/lab"
)

// The sides with deliveries.
const (
	sideEventTo = "event to an endpoint"
	sideBulkTo  = "bulk event to an endpoint"
	sideBulk100 = "bulk event to 100 endpoints"
	sideOwn     = "bulk event to a workflow"
	sideStart   = "start of that workflow"
	sidePacedTo = "event to an endpoint, at a quarter"
)

// manyEndpoints is the number of endpoints in the fan-out case.
const manyEndpoints = 100

// deliveries compares events with and without deliveries, and with the minimal cost of a delivery.
func deliveries(ctx context.Context, s *suite) (err error) {
	one, err := lab.NewEndpoint(0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, one.Close()) }()
	many, err := lab.NewEndpoint(0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, many.Close()) }()
	return s.serving(ctx, lab.ProductDatabase, func(plain *lab.Node) error {
		return s.withPart(ctx, partCeiling, func(ceiling *part) error {
			to := outlet{endpoints: []*lab.Endpoint{one}, each: 1}
			err := s.withOutlet(ctx, "deliveries", endpoints(1, one), to, func(o *outlet) error {
				return s.toEndpoint(ctx, plain, o, ceiling)
			})
			if err != nil {
				return err
			}
			to = outlet{endpoints: []*lab.Endpoint{many}, each: manyEndpoints}
			err = s.withOutlet(ctx, "fanout", endpoints(manyEndpoints, many), to, func(o *outlet) error {
				return s.toMany(ctx, plain, o)
			})
			if err != nil {
				return err
			}
			return s.withOutlet(ctx, "handoff", ownWorkflows, outlet{each: 1}, func(o *outlet) error { return s.toOwn(ctx, o) })
		})
	})
}

func (s *suite) toEndpoint(ctx context.Context, plain *lab.Node, o *outlet, ceiling *part) error {
	quarter := 0.0
	paced := side{sidePacedTo, func(ctx context.Context) (slice, error) {
		if quarter == 0 {
			got, _, err := ceiling.measure(ctx, baseline.Slice{Length: s.lasting(sliceTime)})
			if err != nil {
				return slice{}, err
			}
			quarter = latencyShare * got.PerSecond
		}
		d := o.load(stripe)
		d.Rate, d.Duration = quarter, s.lasting(pacedTime)
		o.endpoints[0].Remember()
		got, err := s.drive(ctx, d)
		if err != nil {
			return slice{}, err
		}
		waits, err := o.fromCommit(ctx)
		one := sliceOf(got)
		slices.Sort(waits)
		if len(waits) > 0 {
			one.done50, one.done99 = waits[len(waits)/2], waits[len(waits)*99/100]
		}
		return one, err
	}}
	t, err := s.alternate(ctx, s.full(sideEvent, load(plain, stripe)), s.full(sideEventTo, o.load(stripe)),
		s.full(sideBulk, load(plain, firehose)), s.full(sideBulkTo, o.load(firehose)), s.asked(sideEmpty, ceiling, 0), paced)
	if err != nil {
		return err
	}
	done50 := func(s *slice) float64 { return s.done50 }
	s.samples("bulk to an endpoint / empty workflows", "", figures.AtLeast(7), t.ratios(sideBulkTo, sideEmpty, rateOf))
	s.samples("bulk to an endpoint / bulk without", "", figures.AtLeast(0.75), t.ratios(sideBulkTo, sideBulk, rateOf))
	s.samples("events to an endpoint / events without", "", figures.AtLeast(0.9), t.ratios(sideEventTo, sideEvent, rateOf))
	s.samples("CPU of a delivery", "ms", figures.AtMost(0.5), t.differences(sideBulkTo, sideBulk, 1))
	s.samples("commit to POST p50", "ms", figures.AtMost(10), t.values(sidePacedTo, done50))
	s.samples("bulk events to an endpoint", "/s", nil, t.values(sideBulkTo, rateOf))
	s.samples("events to an endpoint", "/s", nil, t.values(sideEventTo, rateOf))
	return nil
}

func (s *suite) toMany(ctx context.Context, plain *lab.Node, o *outlet) error {
	t, err := s.alternate(ctx, s.full(sideBulk, load(plain, firehose)), s.full(sideBulk100, o.load(firehose)))
	if err != nil {
		return err
	}
	s.samples("CPU of a delivery, one of 100", "ms", figures.AtMost(0.3), t.differences(sideBulk100, sideBulk, manyEndpoints))
	each := func(s *slice) float64 { return s.rate * manyEndpoints }
	s.samples("deliveries of 100 endpoints", "/s", nil, t.values(sideBulk100, each))
	return nil
}

func (s *suite) toOwn(ctx context.Context, o *outlet) error {
	return s.withPart(ctx, partStarts, func(starts *part) error {
		t, err := s.alternate(ctx, s.full(sideOwn, o.load(firehose)), s.asked(sideStart, starts, 0))
		if err != nil {
			return err
		}
		s.samples("events to a workflow / bare starts of it", "", figures.AtLeast(0.8), t.ratios(sideOwn, sideStart, rateOf))
		s.samples("events to a workflow", "/s", nil, t.values(sideOwn, rateOf))
		return nil
	})
}

// differences returns the additional CPU cost of one of n over the other side, in ms, for the pairs with both slices kept.
func (t comparison) differences(over, under string, n float64) (all []float64) {
	for i, a := range t[over] {
		if b := t[under][i]; a != nil && b != nil {
			all = append(all, (cpuOf(a)-cpuOf(b))/n)
		}
	}
	return all
}
