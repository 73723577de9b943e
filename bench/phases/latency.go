package phases

import (
	"context"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
	"holdfast/bench/suite"
)

// latency compares latencies and costs at a low rate.
func latency(ctx context.Context, s *bench) error {
	return s.Serving(ctx, lab.ProductDatabase, func(node *lab.Node) error {
		return s.WithPart(ctx, suite.PartCeiling, func(ceiling *part) error { return s.lowLoad(ctx, node, ceiling) })
	})
}

func (s *bench) lowLoad(ctx context.Context, node *lab.Node, ceiling *part) error {
	single, bulk := suite.Load(node, suite.Stripe), suite.Load(node, suite.Firehose)
	for _, d := range []*drive{&single, &bulk} {
		d.Rate, d.Duration = suite.LowRate, s.Lasting(suite.PacedTime)
	}
	t, err := s.Alternate(ctx, s.Loaded(sideEvent, single), s.Asked(sideEmpty, ceiling, suite.LowRate), s.Loaded(sideBulk, bulk))
	if err != nil {
		return err
	}
	done50, done99 := func(s *slice) float64 { return s.Done50 }, func(s *slice) float64 { return s.Done99 }
	s.Samples("bulk: ACK to processed p99", "ms", figures.AtMost(50), t.Values(sideBulk, done99))
	s.Samples("CPU of an event", "ms", nil, t.Values(sideEvent, suite.CPUOf))
	s.Samples("CPU of a bulk event", "ms", nil, t.Values(sideBulk, suite.CPUOf))
	s.Samples("ACK p50 / start of an empty workflow p50", "", nil, t.Ratios(sideEvent, sideEmpty, suite.P50Of))
	s.Samples("ACK p50", "ms", nil, t.Values(sideEvent, suite.P50Of))
	s.Samples("ACK p99", "ms", nil, t.Values(sideEvent, suite.P99Of))
	s.Samples("start of an empty workflow p50", "ms", nil, t.Values(sideEmpty, suite.P50Of))
	s.Samples("start of an empty workflow p99", "ms", nil, t.Values(sideEmpty, suite.P99Of))
	s.Samples("ACK to processed p50", "ms", nil, t.Values(sideEvent, done50))
	s.Samples("ACK to processed p99", "ms", nil, t.Values(sideEvent, done99))
	s.Samples("bulk: ACK to processed p50", "ms", nil, t.Values(sideBulk, done50))
	return s.TakeProfile(ctx, "latency", single)
}
