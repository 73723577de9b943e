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
		return errors.Join(s.eagerStarts(ctx, begun), s.ordinaryHistory(ctx, node))
	})
}

func (s *suite) fullLoad(ctx context.Context, node *lab.Node, ceiling, steps *part) error {
	const sideSteps, sideMix = "bare steps", "event of the mix"
	single, bulk := load(node, stripe), load(node, firehose)
	t, err := s.alternate(ctx, s.asked(sideSteps, steps, 0), s.full(sideEvent, single), s.asked(sideEmpty, ceiling, 0),
		s.full(sideMix, s.mixed(node)), s.full(sideBulk, bulk))
	if err != nil {
		return err
	}
	s.samples("end to end / bare steps", "", figures.AtLeast(0.9), t.ratios(sideEvent, sideSteps, rateOf))
	s.samples("end to end / ceiling", "", figures.AtLeast(0.75), t.ratios(sideEvent, sideEmpty, rateOf))
	s.samples("CPU of an event / of an empty workflow", "", figures.AtMost(1.25), t.ratios(sideEvent, sideEmpty, cpuOf))
	s.samples("mix of the catalogue / ceiling", "", figures.AtLeast(0.65), t.ratios(sideMix, sideEmpty, rateOf))
	s.samples("CPU of our database, an event", "ms", figures.AtMost(0.5), t.values(sideEvent, databaseOf))
	s.samples("bulk / empty workflows", "", figures.AtLeast(15), t.ratios(sideBulk, sideEmpty, rateOf))
	s.samples("CPU of an event / of bare steps", "", nil, t.ratios(sideEvent, sideSteps, cpuOf))
	s.samples("CPU of an event of the mix / of an empty workflow", "", nil, t.ratios(sideMix, sideEmpty, cpuOf))
	s.samples("CPU of a bulk event / of an empty workflow", "", nil, t.ratios(sideBulk, sideEmpty, cpuOf))
	s.samples("events end to end", "/s", nil, t.values(sideEvent, rateOf))
	s.samples("events of the mix end to end", "/s", nil, t.values(sideMix, rateOf))
	s.samples("empty workflows", "/s", nil, t.values(sideEmpty, rateOf))
	s.samples("bare steps", "/s", nil, t.values(sideSteps, rateOf))
	s.samples("bulk events end to end", "/s", nil, t.values(sideBulk, rateOf))
	s.samples("ACK p50 at full load", "ms", nil, t.values(sideEvent, p50Of))
	s.samples("ACK p99 at full load", "ms", nil, t.values(sideEvent, p99Of))
	s.samples("share that went through the inbox", "", nil, t.values(sideEvent, spooledOf))
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
		if err == nil {
			err = allAccepted(got.result)
		}
		d.Count = s.inSlice(got)
		return sliceOf(got), err
	}}
}

// allAccepted: what the product refuses would make the rest of a load look cheap.
func allAccepted(r loadgen.Result) error {
	if r.OK < r.Requests {
		return fmt.Errorf("of %d requests %d were accepted: %v, %d without an answer", r.Requests, r.OK, r.Statuses, r.NoAnswer)
	}
	return nil
}

// inSlice is how many requests fill a slice.
func (s *suite) inSlice(got driven) int64 {
	each := float64(got.result.Requests) / float64(max(got.result.Events, 1)) // a batch has more events
	return int64(max(each*got.perSecond()*s.lasting(sliceTime).Seconds(), 50))
}
