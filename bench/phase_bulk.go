package main

import (
	"context"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
)

const bulkEvents = 30_000

func bulk(ctx context.Context, s *suite) error {
	return s.serving(ctx, lab.ProductDatabase, func(node *lab.Node) error {
		var rates, p50s, p99s, acks []float64
		for n := range s.rounds {
			d := drive{nodes: []*lab.Node{node}, provider: firehose}
			d.Count = s.scaled(bulkEvents)
			if n == 0 {
				d.profile = s.phase.Name
			}
			got, err := s.drive(ctx, d)
			if err != nil {
				return err
			}
			rates = append(rates, got.perSecond())
			p50s = append(p50s, milliseconds(got.report.Timing.FromAck.P50))
			p99s = append(p99s, milliseconds(got.report.Timing.FromAck.P99))
			acks = append(acks, milliseconds(got.result.Latency.P99))
			if n > 0 {
				continue
			}
			s.charge("bulk event", got.used, d.Count)
			if err := s.plot(ctx, "bulk", got); err != nil {
				return err
			}
		}
		s.figure("events end to end", "/s", figures.AtLeast(3000), rates...)
		s.figure("ACK to processed p50", "ms", figures.AtMost(60), p50s...)
		s.figure("ACK to processed p99", "ms", nil, p99s...)
		s.figure("ACK p99", "ms", nil, acks...)
		return nil
	})
}
