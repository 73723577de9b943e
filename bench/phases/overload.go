package phases

import (
	"context"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
	"holdfast/bench/suite"
)

func overload(ctx context.Context, s *bench) error {
	return s.Serving(ctx, lab.ProductDatabase, func(node *lab.Node) error {
		rate, ok := s.Report.Value(rateOfProduct)
		if !ok {
			var err error
			if rate, err = s.Probe(ctx, drive{Nodes: []*lab.Node{node}}); err != nil {
				return err
			}
		}
		got, err := s.Overload(ctx, drive{Nodes: []*lab.Node{node}}, rate)
		if err != nil {
			return err
		}
		s.Value("ACK p99 at twice the rate", "ms", figures.AtMost(500), suite.Milliseconds(got.Result.Latency.P99))
		s.Value("load", "/s", nil, float64(got.Result.Requests)/got.Result.Elapsed.Seconds())
		s.Value("share of the inbox", "", nil, got.SpooledShare())
		s.Value("processed meanwhile and after", "/s", nil, got.PerSecond())
		s.Value("last event after the last request", "s", nil,
			got.Report.Timing.LastProcessed.Sub(got.Result.Started.Add(got.Result.Elapsed)).Seconds())
		s.Charge("event at twice the rate", got.Used, got.Result.OK)
		return nil
	})
}
