package phases

import (
	"context"
	"errors"
	"slices"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
	"holdfast/bench/suite"
)

// The sides shared by several phases.
const (
	sideEvent = "event"
	sideEmpty = "empty workflow"
	sideBulk  = "bulk event"
)

// rateOfProduct is the figure from which other phases derive their load.
const rateOfProduct = "throughput: events end to end"

// throughput compares rates and costs at full load.
func throughput(ctx context.Context, s *bench) error {
	return s.Serving(ctx, lab.ProductDatabase, func(node *lab.Node) error {
		begun := time.Now()
		err := s.WithPart(ctx, suite.PartCeiling, func(ceiling *part) error {
			return s.fullLoad(ctx, node, ceiling)
		})
		if err != nil {
			return err
		}
		s.Value("RSS of serve, highest", "MiB", nil, slices.Max(s.sizes(begun, time.Now())))
		return errors.Join(s.EagerStarts(ctx, begun), s.OrdinaryHistory(ctx, node))
	})
}

func (s *bench) fullLoad(ctx context.Context, node *lab.Node, ceiling *part) error {
	i, _, err := s.MeasureIdle(ctx, s.Lasting(suite.IdleTime))
	if err != nil {
		return err
	}
	single, bulk := suite.Load(node, suite.Stripe), suite.Load(node, suite.Firehose)
	single.Idle = i // a batch of bulk events has one timer, for which no time is spent
	t, err := s.Alternate(ctx, s.Full(sideEvent, single), s.AskedSettled(sideEmpty, ceiling, 0, i), s.Full(sideBulk, bulk))
	if err != nil {
		return err
	}
	s.Samples("CPU of an event / of an empty workflow", "", figures.AtMost(1.35), t.Ratios(sideEvent, sideEmpty, suite.CPUOf))
	s.Samples("end to end / ceiling", "", figures.AtLeast(0.75), t.Ratios(sideEvent, sideEmpty, suite.RateOf))
	s.Samples("bulk / empty workflows", "", figures.AtLeast(15), t.Ratios(sideBulk, sideEmpty, suite.RateOf))
	s.Samples("CPU of our database, an event", "ms", nil, t.Values(sideEvent, suite.DatabaseOf))
	s.Samples("CPU of a bulk event / of an empty workflow", "", nil, t.Ratios(sideBulk, sideEmpty, suite.CPUOf))
	s.Samples("events end to end", "/s", nil, t.Values(sideEvent, suite.RateOf))
	s.Samples("empty workflows", "/s", nil, t.Values(sideEmpty, suite.RateOf))
	s.Samples("bulk events end to end", "/s", nil, t.Values(sideBulk, suite.RateOf))
	s.Samples("ACK p50 at full load", "ms", nil, t.Values(sideEvent, suite.P50Of))
	s.Samples("ACK p99 at full load", "ms", nil, t.Values(sideEvent, suite.P99Of))
	s.Samples("share that went through the inbox", "", nil, t.Values(sideEvent, suite.SpooledOf))
	return errors.Join(s.TakeProfile(ctx, "throughput", single), s.TakeProfile(ctx, "bulk", bulk))
}

// mix compares events with the least that three steps cost in a workflow, and with the mix of the catalogue, at full load.
func mix(ctx context.Context, s *bench) error {
	return s.Serving(ctx, lab.ProductDatabase, func(node *lab.Node) error {
		return s.WithPart(ctx, suite.PartCeiling, func(ceiling *part) error {
			return s.WithPart(ctx, suite.PartSteps, func(steps *part) error {
				return s.mixLoad(ctx, node, ceiling, steps)
			})
		})
	})
}

func (s *bench) mixLoad(ctx context.Context, node *lab.Node, ceiling, steps *part) error {
	const sideSteps, sideMix = "bare steps", "event of the mix"
	t, err := s.Alternate(ctx, s.Asked(sideSteps, steps, 0), s.Full(sideEvent, suite.Load(node, suite.Stripe)),
		s.Asked(sideEmpty, ceiling, 0),
		s.Full(sideMix, s.Mixed(node)))
	if err != nil {
		return err
	}
	s.Samples("end to end / bare steps", "", nil, t.Ratios(sideEvent, sideSteps, suite.RateOf))
	s.Samples("CPU of an event / of bare steps", "", nil, t.Ratios(sideEvent, sideSteps, suite.CPUOf))
	s.Samples("mix of the catalogue / ceiling", "", nil, t.Ratios(sideMix, sideEmpty, suite.RateOf))
	s.Samples("CPU of an event of the mix / of an empty workflow", "", nil, t.Ratios(sideMix, sideEmpty, suite.CPUOf))
	s.Samples("events of the mix end to end", "/s", nil, t.Values(sideMix, suite.RateOf))
	s.Samples("bare steps", "/s", nil, t.Values(sideSteps, suite.RateOf))
	return nil
}
