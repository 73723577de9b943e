package main

import (
	"context"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
)

const (
	latencyRate = 100
	latencyTime = 25 * time.Second
)

func latency(ctx context.Context, s *suite) error {
	return s.serving(ctx, lab.ProductDatabase, func(node *lab.Node) error {
		d := drive{nodes: []*lab.Node{node}, profile: s.phase.Name}
		d.Rate, d.Duration = latencyRate, s.lasting(latencyTime)
		got, err := s.drive(ctx, d)
		if err != nil {
			return err
		}
		s.figure("ACK p50 at 100/s", "ms", figures.AtMost(5), milliseconds(got.result.Latency.P50))
		s.figure("ACK p99 at 100/s", "ms", figures.AtMost(40), milliseconds(got.result.Latency.P99))
		s.figure("ACK to processed p50 at 100/s", "ms", figures.AtMost(20), milliseconds(got.report.Timing.FromAck.P50))
		s.figure("ACK to processed p99 at 100/s", "ms", figures.AtMost(100), milliseconds(got.report.Timing.FromAck.P99))
		s.figure("receipt to processed p50 at 100/s", "ms", nil, milliseconds(got.report.Timing.FromReceipt.P50))
		s.charge("event at 100/s", got.used, got.result.OK)
		return s.plot(ctx, "100/s", got)
	})
}
