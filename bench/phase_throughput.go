package main

import (
	"context"
	"fmt"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
)

// How many of each a round takes: some ten to twenty seconds of each on two slow cores.
const (
	ceilingEvents = 2500
	stepsEvents   = 1500
	productEvents = 2500
)

// yardstickDatabase is where the bare steps write.
const yardstickDatabase = "yardstick"

// rateOfProduct and rateOfCeiling are the figures that other phases take their load from.
const (
	rateOfProduct = "throughput: events end to end"
	rateOfCeiling = "throughput: empty workflows"
)

// round is what one turn has found, in events a second and ms of CPU an event.
type round struct {
	ceiling, steps, product          float64
	ceilingCost, stepsCost, costEach float64
	p50, p99                         float64
}

func throughput(ctx context.Context, s *suite) error {
	if err := s.lab.Postgres.CreateDatabase(ctx, yardstickDatabase); err != nil {
		return err
	}
	var all []round
	for n := range s.rounds {
		r, err := s.throughputRound(ctx, n)
		if err != nil {
			return fmt.Errorf("round %d: %w", n+1, err)
		}
		all = append(all, r)
	}
	of := func(value func(round) float64) []float64 { return each(all, value) }
	s.figure("end to end / ceiling", "", figures.AtLeast(0.85), of(func(r round) float64 { return r.product / r.ceiling })...)
	s.figure("bare steps / ceiling", "", nil, of(func(r round) float64 { return r.steps / r.ceiling })...)
	s.figure("end to end / bare steps", "", nil, of(func(r round) float64 { return r.product / r.steps })...)
	s.figure("CPU of an event / of an empty workflow", "", nil, of(func(r round) float64 { return r.costEach / r.ceilingCost })...)
	s.figure("events end to end", "/s", nil, of(func(r round) float64 { return r.product })...)
	s.figure("empty workflows", "/s", nil, of(func(r round) float64 { return r.ceiling })...)
	s.figure("bare steps", "/s", nil, of(func(r round) float64 { return r.steps })...)
	s.figure("CPU of an event", "ms", nil, of(func(r round) float64 { return r.costEach })...)
	s.figure("CPU of an empty workflow", "ms", nil, of(func(r round) float64 { return r.ceilingCost })...)
	s.figure("CPU of bare steps", "ms", nil, of(func(r round) float64 { return r.stepsCost })...)
	s.figure("ACK p50 at full load", "ms", nil, of(func(r round) float64 { return r.p50 })...)
	s.figure("ACK p99 at full load", "ms", nil, of(func(r round) float64 { return r.p99 })...)
	return nil
}

func each[T any](all []T, value func(T) float64) (values []float64) {
	for _, one := range all {
		values = append(values, value(one))
	}
	return values
}

func (s *suite) throughputRound(ctx context.Context, n int) (r round, err error) {
	if r.ceiling, r.ceilingCost, err = s.yardstickRound(ctx, n, partCeiling, "empty workflow", ceilingEvents); err != nil {
		return r, err
	}
	err = s.serving(ctx, lab.ProductDatabase, func(node *lab.Node) error {
		d := drive{nodes: []*lab.Node{node}}
		d.Count = s.scaled(productEvents)
		if n == 0 {
			d.profile = s.phase.Name
		}
		got, err := s.drive(ctx, d)
		if err != nil {
			return err
		}
		r.product, r.p50, r.p99 = got.perSecond(), milliseconds(got.result.Latency.P50), milliseconds(got.result.Latency.P99)
		r.costEach = s.chargeRound(n, "event", got.used, d.Count)
		return nil
	})
	if err != nil {
		return r, err
	}
	if r.steps, r.stepsCost, err = s.yardstickRound(ctx, n, partSteps, "bare steps", stepsEvents); err != nil {
		return r, err
	}
	return r, nil
}

// yardstickRound gives the rate of a part, and the CPU of each of its workflows in ms.
func (s *suite) yardstickRound(ctx context.Context, n int, part, name string, events int) (rate, each float64, err error) {
	count := s.scaled(events)
	got, used, err := s.measurePart(ctx, part, yardstickDatabase, count, 0)
	if err != nil {
		return 0, 0, err
	}
	return got.PerSecond, s.chargeRound(n, name, used, count), nil
}

// chargeRound shows the costs of the first round only; the others count for the medians.
func (s *suite) chargeRound(n int, name string, used lab.Usage, events int64) float64 {
	if n > 0 {
		return sum(cost(used, events))
	}
	return s.charge(name, used, events)
}
