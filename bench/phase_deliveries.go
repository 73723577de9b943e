package main

import (
	"context"
	"errors"
	"slices"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
)

// The sides with deliveries.
const (
	sideBulkTo  = "bulk event to an endpoint"
	sideBulk100 = "bulk event to 100 endpoints"
	sidePacedTo = "event to an endpoint, at 47/s"
)

// manyEndpoints is the number of endpoints in the fan-out case.
const manyEndpoints = 100

// deliveries measures bulk events with and without deliveries, and how soon an event at a low rate is delivered.
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
		to := outlet{endpoints: []*lab.Endpoint{one}, each: 1}
		err := s.withOutlet(ctx, "deliveries", endpoints(1, one), to, func(o *outlet) error { return s.toEndpoint(ctx, plain, o) })
		if err != nil {
			return err
		}
		to = outlet{endpoints: []*lab.Endpoint{many}, each: manyEndpoints}
		return s.withOutlet(ctx, "fanout", endpoints(manyEndpoints, many), to, func(o *outlet) error { return s.toMany(ctx, o) })
	})
}

func (s *suite) toEndpoint(ctx context.Context, plain *lab.Node, o *outlet) error {
	paced := side{sidePacedTo, func(ctx context.Context) (slice, error) {
		d := o.load(stripe)
		d.Rate, d.Duration = lowRate, s.lasting(pacedTime)
		o.endpoints[0].Remember()
		got, err := s.drive(ctx, d)
		if err != nil {
			return slice{}, err
		}
		waits, err := o.fromAck(ctx, got.ledger)
		one := sliceOf(got)
		slices.Sort(waits)
		if len(waits) > 0 {
			one.done50, one.done99 = waits[len(waits)/2], waits[len(waits)*99/100]
		}
		return one, err
	}}
	t, err := s.alternate(ctx, s.full(sideBulk, load(plain, firehose)), s.full(sideBulkTo, o.load(firehose)), paced)
	if err != nil {
		return err
	}
	s.samples("ACK to POST p50 at 47/s", "ms", figures.AtMost(5), t.values(sidePacedTo, func(s *slice) float64 { return s.done50 }))
	s.samples("ACK to POST p99 at 47/s", "ms", figures.AtMost(15), t.values(sidePacedTo, func(s *slice) float64 { return s.done99 }))
	s.samples("bulk to an endpoint / bulk without", "", nil, t.ratios(sideBulkTo, sideBulk, rateOf))
	s.samples("CPU of a delivery", "ms", nil, t.differences(sideBulkTo, sideBulk))
	s.samples("bulk events to an endpoint", "/s", nil, t.values(sideBulkTo, rateOf))
	return s.takeProfile(ctx, "deliveries", o.load(firehose))
}

func (s *suite) toMany(ctx context.Context, o *outlet) error {
	t, err := s.alternate(ctx, s.full(sideBulk100, o.load(firehose)))
	if err != nil {
		return err
	}
	rate := func(s *slice) float64 { return s.rate * manyEndpoints }
	each := func(s *slice) float64 { return cpuOf(s) / manyEndpoints }
	s.samples("deliveries of 100 endpoints", "/s", nil, t.values(sideBulk100, rate))
	s.samples("CPU of a delivery, one of 100, with its share of the event", "ms", nil, t.values(sideBulk100, each))
	return s.takeProfile(ctx, "fanout", o.load(firehose))
}

// differences returns the additional CPU cost of one side over the other, in ms, for the pairs with both slices kept.
func (t comparison) differences(over, under string) (all []float64) {
	for i, a := range t[over] {
		if b := t[under][i]; a != nil && b != nil {
			all = append(all, cpuOf(a)-cpuOf(b))
		}
	}
	return all
}
