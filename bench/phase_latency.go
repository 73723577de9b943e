package main

import (
	"context"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
)

// lowRate is that of the comparison with other systems, in events per second: nothing waits for the machine.
const lowRate = 47

// latency compares latencies and costs at a low rate.
func latency(ctx context.Context, s *suite) error {
	return s.serving(ctx, lab.ProductDatabase, func(node *lab.Node) error {
		return s.withPart(ctx, partCeiling, func(ceiling *part) error { return s.lowLoad(ctx, node, ceiling) })
	})
}

func (s *suite) lowLoad(ctx context.Context, node *lab.Node, ceiling *part) error {
	single, bulk := load(node, stripe), load(node, firehose)
	for _, d := range []*drive{&single, &bulk} {
		d.Rate, d.Duration = lowRate, s.lasting(pacedTime)
	}
	t, err := s.alternate(ctx, s.loaded(sideEvent, single), s.asked(sideEmpty, ceiling, lowRate), s.loaded(sideBulk, bulk))
	if err != nil {
		return err
	}
	done50, done99 := func(s *slice) float64 { return s.done50 }, func(s *slice) float64 { return s.done99 }
	s.samples("bulk: ACK to processed p99", "ms", figures.AtMost(50), t.values(sideBulk, done99))
	s.samples("CPU of an event", "ms", nil, t.values(sideEvent, cpuOf))
	s.samples("CPU of a bulk event", "ms", nil, t.values(sideBulk, cpuOf))
	s.samples("ACK p50 / start of an empty workflow p50", "", nil, t.ratios(sideEvent, sideEmpty, p50Of))
	s.samples("ACK p50", "ms", nil, t.values(sideEvent, p50Of))
	s.samples("ACK p99", "ms", nil, t.values(sideEvent, p99Of))
	s.samples("start of an empty workflow p50", "ms", nil, t.values(sideEmpty, p50Of))
	s.samples("start of an empty workflow p99", "ms", nil, t.values(sideEmpty, p99Of))
	s.samples("ACK to processed p50", "ms", nil, t.values(sideEvent, done50))
	s.samples("ACK to processed p99", "ms", nil, t.values(sideEvent, done99))
	s.samples("bulk: ACK to processed p50", "ms", nil, t.values(sideBulk, done50))
	return s.takeProfile(ctx, "latency", single)
}
