package phases

import (
	"context"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
	"holdfast/bench/suite"
)

const (
	overloadTime   = 6 * time.Second
	overloadFactor = 2
	// probeEvents are used to measure the rate to overload.
	probeEvents = 1000
	// overloadConnections are more than can wait for half a second each.
	overloadConnections = 1024
)

func overload(ctx context.Context, s *bench) error {
	return s.Serving(ctx, lab.ProductDatabase, func(node *lab.Node) error {
		rate, ok := s.Report.Value(rateOfProduct)
		if !ok {
			var err error
			if rate, err = s.probe(ctx, node); err != nil {
				return err
			}
		}
		d := drive{Nodes: []*lab.Node{node}}
		d.Rate, d.Duration, d.Connections = overloadFactor*rate, s.Lasting(overloadTime), overloadConnections
		got, err := s.Drive(ctx, d)
		if err != nil {
			return err
		}
		s.Value("ACK p99 at twice the rate", "ms", figures.AtMost(500), suite.Milliseconds(got.Result.Latency.P99))
		s.Value("load", "/s", nil, d.Rate)
		s.Value("share of the inbox", "", nil, float64(got.Result.Spooled)/float64(max(got.Result.OK, 1)))
		s.Value("processed meanwhile and after", "/s", nil, got.PerSecond())
		s.Value("last event after the last request", "s", nil,
			got.Report.Timing.LastProcessed.Sub(got.Result.Started.Add(got.Result.Elapsed)).Seconds())
		s.Charge("event at twice the rate", got.Used, got.Result.OK)
		return suite.AllAccepted(got.Result)
	})
}

// probe measures the product's rate if the phase that does so was skipped.
func (s *bench) probe(ctx context.Context, node *lab.Node) (float64, error) {
	d := drive{Nodes: []*lab.Node{node}}
	d.Count = s.Scaled(probeEvents)
	got, err := s.Drive(ctx, d)
	return got.PerSecond(), err
}
