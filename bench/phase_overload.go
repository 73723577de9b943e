package main

import (
	"context"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
)

const (
	overloadTime   = 6 * time.Second
	overloadFactor = 2
	// probeEvents are used to measure the rate to overload.
	probeEvents = 1000
	// overloadConnections are more than can wait for half a second each.
	overloadConnections = 1024
)

func overload(ctx context.Context, s *suite) error {
	return s.serving(ctx, lab.ProductDatabase, func(node *lab.Node) error {
		rate, ok := s.report.Value(rateOfProduct)
		if !ok {
			var err error
			if rate, err = s.probe(ctx, node); err != nil {
				return err
			}
		}
		d := drive{nodes: []*lab.Node{node}}
		d.Rate, d.Duration, d.Connections = overloadFactor*rate, s.lasting(overloadTime), overloadConnections
		got, err := s.drive(ctx, d)
		if err != nil {
			return err
		}
		s.value("ACK p99 at twice the rate", "ms", figures.AtMost(500), milliseconds(got.result.Latency.P99))
		s.value("load", "/s", nil, d.Rate)
		s.value("share of the inbox", "", nil, float64(got.result.Spooled)/float64(max(got.result.OK, 1)))
		s.value("processed meanwhile and after", "/s", nil, got.perSecond())
		s.value("last event after the last request", "s", nil,
			got.report.Timing.LastProcessed.Sub(got.result.Started.Add(got.result.Elapsed)).Seconds())
		s.charge("event at twice the rate", got.used, got.result.OK)
		return allAccepted(got.result)
	})
}

// probe measures the product's rate if the phase that does so was skipped.
func (s *suite) probe(ctx context.Context, node *lab.Node) (float64, error) {
	d := drive{nodes: []*lab.Node{node}}
	d.Count = s.scaled(probeEvents)
	got, err := s.drive(ctx, d)
	return got.perSecond(), err
}
