package main

import (
	"context"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
)

const (
	bulkEvents = 24_000
	bulkGoal   = 3_000 // a second
	// A closed loop tells what the lane bears, and of latency only how it is when the lane is full. So each round has a second
	// part: events that are due at fixed moments, at a part of the rate that the first has found.
	bulkShare = 0.8
	bulkTime  = 8 * time.Second
)

// bulkRound are the figures of a round: events per second, the others in ms.
type bulkRound struct{ rate, p50, p99, ack, openP50, openP99, openAck float64 }

func bulk(ctx context.Context, s *suite) error {
	return s.serving(ctx, lab.ProductDatabase, func(node *lab.Node) error {
		var rounds []bulkRound
		for n := range s.rounds {
			round, err := s.bulkRound(ctx, node, n == 0)
			if err != nil {
				return err
			}
			rounds = append(rounds, round)
		}
		rates := each(rounds, func(r bulkRound) float64 { return r.rate })
		s.figure("events end to end", "/s", figures.AtLeast(bulkGoal), rates...)
		s.perCeiling("events end to end", bulkGoal, rates...)
		s.figure("ACK to processed p50", "ms", figures.AtMost(60), each(rounds, func(r bulkRound) float64 { return r.p50 })...)
		s.figure("ACK to processed p99", "ms", nil, each(rounds, func(r bulkRound) float64 { return r.p99 })...)
		s.figure("ACK p99", "ms", nil, each(rounds, func(r bulkRound) float64 { return r.ack })...)
		s.figure("ACK to processed p50 at 80 % of that", "ms", nil, each(rounds, func(r bulkRound) float64 { return r.openP50 })...)
		s.figure("ACK to processed p99 at 80 % of that", "ms", nil, each(rounds, func(r bulkRound) float64 { return r.openP99 })...)
		s.figure("ACK p99 at 80 % of that", "ms", nil, each(rounds, func(r bulkRound) float64 { return r.openAck })...)
		return nil
	})
}

// bulkRound loads the lane twice; the first round also tells what an event costs.
func (s *suite) bulkRound(ctx context.Context, node *lab.Node, first bool) (r bulkRound, err error) {
	closed := drive{nodes: []*lab.Node{node}, provider: firehose}
	closed.Count = s.scaled(bulkEvents)
	if first {
		closed.profile = s.phase.Name
	}
	got, err := s.drive(ctx, closed)
	if err != nil {
		return r, err
	}
	r.rate, r.ack = got.perSecond(), milliseconds(got.result.Latency.P99)
	r.p50, r.p99 = milliseconds(got.report.Timing.FromAck.P50), milliseconds(got.report.Timing.FromAck.P99)
	if first {
		s.charge("bulk event", got.used, closed.Count)
	}
	open := drive{nodes: []*lab.Node{node}, provider: firehose}
	open.Rate, open.Duration = bulkShare*r.rate, s.lasting(bulkTime)
	if got, err = s.drive(ctx, open); err != nil {
		return r, err
	}
	r.openAck = milliseconds(got.result.Latency.P99)
	r.openP50, r.openP99 = milliseconds(got.report.Timing.FromAck.P50), milliseconds(got.report.Timing.FromAck.P99)
	if first {
		s.charge("bulk event at 80 %", got.used, got.result.OK)
	}
	return r, nil
}
