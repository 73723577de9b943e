package phases

import (
	"context"
	"errors"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
	"holdfast/bench/suite"
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
func deliveries(ctx context.Context, s *bench) (err error) {
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
	return s.Serving(ctx, lab.ProductDatabase, func(plain *lab.Node) error {
		to := outlet{Endpoints: []*lab.Endpoint{one}, Each: 1}
		err := s.WithOutlet(ctx, "deliveries", suite.Endpoints(1, one), to, func(o *outlet) error {
			return s.toEndpoint(ctx, plain, o)
		})
		if err != nil {
			return err
		}
		to = outlet{Endpoints: []*lab.Endpoint{many}, Each: manyEndpoints}
		return s.WithOutlet(ctx, "fanout", suite.Endpoints(manyEndpoints, many), to, func(o *outlet) error {
			return s.toMany(ctx, o)
		})
	})
}

func (s *bench) toEndpoint(ctx context.Context, plain *lab.Node, o *outlet) error {
	paced := s.Paced(sidePacedTo, o.Load(suite.Stripe), o.Endpoints[0], func(path string) ([]float64, error) {
		return o.FromAck(ctx, path)
	})
	t, err := s.Alternate(ctx, s.Full(sideBulk, suite.Load(plain, suite.Firehose)),
		s.Full(sideBulkTo, o.Load(suite.Firehose)), paced)
	if err != nil {
		return err
	}
	s.Samples("ACK to POST p50 at 47/s", "ms", figures.AtMost(5), t.Values(sidePacedTo, done50))
	s.Samples("ACK to POST p99 at 47/s", "ms", figures.AtMost(15), t.Values(sidePacedTo, done99))
	s.Samples("bulk to an endpoint / bulk without", "", nil, t.Ratios(sideBulkTo, sideBulk, suite.RateOf))
	s.Samples("CPU of a delivery", "ms", nil, t.Differences(sideBulkTo, sideBulk))
	s.Samples("bulk events to an endpoint", "/s", nil, t.Values(sideBulkTo, suite.RateOf))
	return s.TakeProfile(ctx, "deliveries", o.Load(suite.Firehose))
}

func (s *bench) toMany(ctx context.Context, o *outlet) error {
	t, err := s.Alternate(ctx, s.Full(sideBulk100, o.Load(suite.Firehose)))
	if err != nil {
		return err
	}
	rate := func(s *slice) float64 { return s.Rate * manyEndpoints }
	each := func(s *slice) float64 { return suite.CPUOf(s) / manyEndpoints }
	s.Samples("deliveries of 100 endpoints", "/s", nil, t.Values(sideBulk100, rate))
	s.Samples("CPU of a delivery, one of 100, with its share of the event", "ms", nil, t.Values(sideBulk100, each))
	return s.TakeProfile(ctx, "fanout", o.Load(suite.Firehose))
}

// handoff compares bulk events that start a workflow of the user with bare starts of it.
func handoff(ctx context.Context, s *bench) error {
	return s.WithOutlet(ctx, "handoff", suite.OwnWorkflows, outlet{Each: 1}, func(o *outlet) error { return s.toOwn(ctx, o) })
}

func (s *bench) toOwn(ctx context.Context, o *outlet) error {
	const sideOwn, sideStart = "bulk event to a workflow", "start of that workflow"
	return s.WithPart(ctx, suite.PartStarts, func(starts *part) error {
		t, err := s.Alternate(ctx, s.Full(sideOwn, o.Load(suite.Firehose)), s.Asked(sideStart, starts, 0))
		if err != nil {
			return err
		}
		s.Samples("events to a workflow / bare starts of it", "", nil, t.Ratios(sideOwn, sideStart, suite.RateOf))
		s.Samples("events to a workflow", "/s", nil, t.Values(sideOwn, suite.RateOf))
		return nil
	})
}

func done50(s *slice) float64 { return s.Done50 }

func done99(s *slice) float64 { return s.Done99 }
