package main

import (
	"context"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
)

const (
	latencyRate = 100
	latencyTime = 20 * time.Second
	// latencyShare of the engine's ceiling is what 100 a second are on the machine that the goals were set on.
	latencyShare = 0.25
)

func latency(ctx context.Context, s *suite) error {
	return s.serving(ctx, lab.ProductDatabase, func(node *lab.Node) error {
		if err := s.latencyAt(ctx, node, "100/s", latencyRate, s.phase.Name); err != nil {
			return err
		}
		ceiling, ok := s.report.Value(rateOfCeiling)
		if !ok {
			return nil
		}
		s.figure("a quarter of the ceiling", "/s", nil, latencyShare*ceiling)
		return s.latencyAt(ctx, node, "a quarter of the ceiling", latencyShare*ceiling, "")
	})
}

// latencyAt has events come at a rate, whatever becomes of them; profile is the name of a profile, or "".
func (s *suite) latencyAt(ctx context.Context, node *lab.Node, name string, rate float64, profile string) error {
	d := drive{nodes: []*lab.Node{node}, profile: profile}
	d.Rate, d.Duration = rate, s.lasting(latencyTime)
	got, err := s.drive(ctx, d)
	if err != nil {
		return err
	}
	s.figure("ACK p50 at "+name, "ms", figures.AtMost(5), milliseconds(got.result.Latency.P50))
	s.figure("ACK p99 at "+name, "ms", figures.AtMost(40), milliseconds(got.result.Latency.P99))
	s.figure("ACK to processed p50 at "+name, "ms", figures.AtMost(20), milliseconds(got.report.Timing.FromAck.P50))
	s.figure("ACK to processed p99 at "+name, "ms", figures.AtMost(100), milliseconds(got.report.Timing.FromAck.P99))
	s.figure("receipt to processed p50 at "+name, "ms", nil, milliseconds(got.report.Timing.FromReceipt.P50))
	s.charge("event at "+name, got.used, got.result.OK)
	return s.plot(ctx, name, got)
}
