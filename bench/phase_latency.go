package main

import (
	"context"

	"holdfast/bench/baseline"
	"holdfast/bench/figures"
	"holdfast/bench/lab"
)

// latencyShare of the engine's maximum rate is a load at which nothing waits for the machine.
const latencyShare = 0.25

// latency compares latencies and costs at a quarter of the maximum rate.
func latency(ctx context.Context, s *suite) error {
	return s.serving(ctx, lab.ProductDatabase, func(node *lab.Node) error {
		return s.withPart(ctx, partCeiling, func(ceiling *part) error {
			rate, ok := s.report.Value(rateOfCeiling)
			if !ok {
				got, _, err := ceiling.measure(ctx, baseline.Slice{Length: s.lasting(sliceTime)})
				if err != nil {
					return err
				}
				rate = got.PerSecond
			}
			return s.partLoad(ctx, node, ceiling, latencyShare*rate)
		})
	})
}

func (s *suite) partLoad(ctx context.Context, node *lab.Node, ceiling *part, rate float64) error {
	const sideFull = "event at full load"
	full, single, bulk := load(node, stripe), load(node, stripe), load(node, firehose)
	for _, d := range []*drive{&single, &bulk} {
		d.Rate, d.Duration = rate, s.lasting(pacedTime)
	}
	t, err := s.alternate(ctx, s.full(sideFull, full), s.loaded(sideEvent, single), s.asked(sideEmpty, ceiling, rate),
		s.loaded(sideBulk, bulk))
	if err != nil {
		return err
	}
	done50, done99 := func(s *slice) float64 { return s.done50 }, func(s *slice) float64 { return s.done99 }
	s.value("a quarter of the ceiling", "/s", nil, rate)
	s.samples("CPU of an event / of one at full load", "", figures.AtMost(1.3), t.ratios(sideEvent, sideFull, cpuOf))
	s.samples("CPU of a bulk event / of an event", "", figures.AtMost(0.2), t.ratios(sideBulk, sideEvent, cpuOf))
	s.samples("bulk: ACK to processed p99", "ms", figures.AtMost(50), t.values(sideBulk, done99))
	s.samples("ACK p50 / start of an empty workflow p50", "", figures.AtMost(1.15), t.ratios(sideEvent, sideEmpty, p50Of))
	s.samples("ACK p50", "ms", nil, t.values(sideEvent, p50Of))
	s.samples("ACK p99", "ms", nil, t.values(sideEvent, p99Of))
	s.samples("start of an empty workflow p50", "ms", nil, t.values(sideEmpty, p50Of))
	s.samples("start of an empty workflow p99", "ms", nil, t.values(sideEmpty, p99Of))
	s.samples("ACK to processed p50", "ms", nil, t.values(sideEvent, done50))
	s.samples("ACK to processed p99", "ms", nil, t.values(sideEvent, done99))
	s.samples("bulk: ACK to processed p50", "ms", nil, t.values(sideBulk, done50))
	return s.takeProfile(ctx, "latency", single)
}
