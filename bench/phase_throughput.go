package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
	"holdfast/loadgen"
)

// The sides that several phases have.
const (
	sideEvent = "event"
	sideEmpty = "empty workflow"
	sideBulk  = "bulk event"
)

// rateOfProduct and rateOfCeiling are the figures that other phases take their load from.
const (
	rateOfProduct = "throughput: events end to end"
	rateOfCeiling = "throughput: empty workflows"
)

// throughput compares what is done in a second at full load, and what each costs.
func throughput(ctx context.Context, s *suite) error {
	return s.serving(ctx, lab.ProductDatabase, func(node *lab.Node) error {
		begun := time.Now()
		err := s.withPart(ctx, partCeiling, func(ceiling *part) error {
			return s.withPart(ctx, partSteps, func(steps *part) error {
				return s.fullLoad(ctx, node, ceiling, steps)
			})
		})
		if err != nil {
			return err
		}
		s.value("RSS of serve, highest", "MiB", figures.AtMost(150), slices.Max(s.sizes(begun, time.Now())))
		return nil
	})
}

func (s *suite) fullLoad(ctx context.Context, node *lab.Node, ceiling, steps *part) error {
	const sideSteps, sideDuplicate = "bare steps", "duplicate"
	single, bulk := load(node, stripe), load(node, firehose)
	event, duplicate := s.twice(single)
	event.name, duplicate.name = sideEvent, sideDuplicate
	t, err := s.alternate(ctx, s.asked(sideSteps, steps, 0), event, s.asked(sideEmpty, ceiling, 0), s.full(sideBulk, bulk),
		duplicate)
	if err != nil {
		return err
	}
	s.samples("end to end / ceiling", "", figures.AtLeast(0.75), t.ratios(sideEvent, sideEmpty, rateOf))
	s.samples("end to end / bare steps", "", figures.AtLeast(0.9), t.ratios(sideEvent, sideSteps, rateOf))
	s.samples("CPU of an event / of an empty workflow", "", figures.AtMost(1.25), t.ratios(sideEvent, sideEmpty, cpuOf))
	s.samples("CPU of an event / of bare steps", "", nil, t.ratios(sideEvent, sideSteps, cpuOf))
	s.samples("bulk / empty workflows", "", figures.AtLeast(15), t.ratios(sideBulk, sideEmpty, rateOf))
	s.samples("CPU of a bulk event / of an empty workflow", "", nil, t.ratios(sideBulk, sideEmpty, cpuOf))
	s.samples("CPU of a duplicate / of an event", "", figures.AtMost(0.5), t.ratios(sideDuplicate, sideEvent, cpuOf))
	s.samples("events end to end", "/s", nil, t.values(sideEvent, rateOf))
	s.samples("empty workflows", "/s", nil, t.values(sideEmpty, rateOf))
	s.samples("bare steps", "/s", nil, t.values(sideSteps, rateOf))
	s.samples("bulk events end to end", "/s", nil, t.values(sideBulk, rateOf))
	s.samples("ACK p50 at full load", "ms", nil, t.values(sideEvent, p50Of))
	s.samples("ACK p99 at full load", "ms", nil, t.values(sideEvent, p99Of))
	return errors.Join(s.takeProfile(ctx, "throughput", single), s.takeProfile(ctx, "bulk", bulk))
}

// load is that of a provider on a node.
func load(node *lab.Node, provider string) drive {
	return drive{nodes: []*lab.Node{node}, provider: provider}
}

// firstEvents are the first slice of a side at full load.
const firstEvents = 200

// full is a side of events at full load. A slice has so many as were done, at the rate of the one before, in its time: if it had
// all that are accepted in that time, the inbox would keep it busy for several times as long.
func (s *suite) full(name string, d drive) side {
	d.Count = s.scaled(firstEvents)
	return side{name, func(ctx context.Context) (slice, error) {
		got, err := s.drive(ctx, d)
		d.Count = s.inSlice(got)
		return sliceOf(got), err
	}}
}

func (s *suite) inSlice(got driven) int64 {
	return int64(max(got.perSecond()*s.lasting(sliceTime).Seconds(), 50))
}

const (
	// duplicateConnections are few enough that hardly any has to wait for Temporal in the inbox.
	duplicateConnections = 8
	// pure is the share of duplicates that a slice of them must have.
	pure = 0.95
)

// twice gives two sides: one of new events, and one of those of its last slice, sent again. Two runs with the same ID, seed and
// time are the same events, byte for byte.
func (s *suite) twice(d drive) (event, duplicate side) {
	next := s.scaled(firstEvents)
	event.take = func(ctx context.Context) (slice, error) {
		d.Run, d.Seed, d.At, d.Count = loadgen.RandomRun(), 7, time.Now(), next
		got, err := s.drive(ctx, d)
		next = s.inSlice(got)
		return sliceOf(got), err
	}
	duplicate.take = func(ctx context.Context) (slice, error) {
		again := d
		again.Connections = duplicateConnections
		got, err := s.drive(ctx, again)
		// One that is in the inbox is found to be a duplicate later.
		if known := got.result.Duplicates + got.result.Spooled; err == nil && known < int64(pure*float64(d.Count)) {
			err = fmt.Errorf("of %d events that were sent again %d were duplicates", d.Count, known)
		}
		one := sliceOf(got)
		one.rate = got.result.PerSecond // none is processed
		return one, err
	}
	return event, duplicate
}
