package main

import (
	"context"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
)

const (
	latencyRate = 100
	latencyTime = 15 * time.Second
	// startTime is for how long empty workflows are started at the same rate.
	startTime = 8 * time.Second
	// latencyShare of the engine's ceiling is what 100 a second are on the machine that the goals were set on.
	latencyShare = 0.25
)

// pace is a rate of events, in a second.
type pace struct {
	name    string
	rate    float64
	profile string // its name, or ""
}

func latency(ctx context.Context, s *suite) error {
	paces := []pace{{"100/s", latencyRate, s.phase.Name}}
	if ceiling, ok := s.report.Value(rateOfCeiling); ok {
		s.figure("a quarter of the ceiling", "/s", nil, latencyShare*ceiling)
		paces = append(paces, pace{"a quarter of the ceiling", latencyShare * ceiling, ""})
	}
	for _, p := range paces {
		if err := s.startsAt(ctx, p); err != nil {
			return err
		}
	}
	return s.serving(ctx, lab.ProductDatabase, func(node *lab.Node) error {
		for _, p := range paces {
			if err := s.latencyAt(ctx, node, p); err != nil {
				return err
			}
		}
		return nil
	})
}

// startsAt has empty workflows started at the rate: an ACK that waits for Temporal cannot be earlier than that.
func (s *suite) startsAt(ctx context.Context, p pace) error {
	count := int64(p.rate * s.lasting(startTime).Seconds())
	got, used, err := s.measurePart(ctx, partCeiling, lab.ProductDatabase, count, p.rate)
	if err != nil {
		return err
	}
	s.figure("start of an empty workflow p50 at "+p.name, "ms", nil, milliseconds(got.P50))
	s.figure("start of an empty workflow p99 at "+p.name, "ms", nil, milliseconds(got.P99))
	s.charge("empty workflow at "+p.name, used, count)
	return nil
}

// latencyAt has events come at the rate, whatever becomes of them.
func (s *suite) latencyAt(ctx context.Context, node *lab.Node, p pace) error {
	d := drive{nodes: []*lab.Node{node}, profile: p.profile}
	d.Rate, d.Duration = p.rate, s.lasting(latencyTime)
	got, err := s.drive(ctx, d)
	if err != nil {
		return err
	}
	s.figure("ACK p50 at "+p.name, "ms", figures.AtMost(5), milliseconds(got.result.Latency.P50))
	s.figure("ACK p99 at "+p.name, "ms", figures.AtMost(40), milliseconds(got.result.Latency.P99))
	s.figure("ACK to processed p50 at "+p.name, "ms", figures.AtMost(20), milliseconds(got.report.Timing.FromAck.P50))
	s.figure("ACK to processed p99 at "+p.name, "ms", figures.AtMost(100), milliseconds(got.report.Timing.FromAck.P99))
	s.figure("receipt to processed p50 at "+p.name, "ms", nil, milliseconds(got.report.Timing.FromReceipt.P50))
	s.charge("event at "+p.name, got.used, got.result.OK)
	return nil
}
