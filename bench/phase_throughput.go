package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
	"holdfast/bench/loadgen"
)

// The sides shared by several phases.
const (
	sideEvent = "event"
	sideEmpty = "empty workflow"
	sideBulk  = "bulk event"
)

// rateOfProduct is the figure from which other phases derive their load.
const rateOfProduct = "throughput: events end to end"

// throughput compares rates and costs at full load.
func throughput(ctx context.Context, s *suite) error {
	return s.serving(ctx, lab.ProductDatabase, func(node *lab.Node) error {
		begun := time.Now()
		err := s.withPart(ctx, partCeiling, func(ceiling *part) error {
			return s.fullLoad(ctx, node, ceiling)
		})
		if err != nil {
			return err
		}
		s.value("RSS of serve, highest", "MiB", nil, slices.Max(s.sizes(begun, time.Now())))
		return errors.Join(s.eagerStarts(ctx, begun), s.ordinaryHistory(ctx, node))
	})
}

func (s *suite) fullLoad(ctx context.Context, node *lab.Node, ceiling *part) error {
	i, _, err := s.measureIdle(ctx, s.lasting(idleTime))
	if err != nil {
		return err
	}
	single, bulk := load(node, stripe), load(node, firehose)
	single.idle = i // a batch of bulk events has one timer, for which no time is spent
	t, err := s.alternate(ctx, s.full(sideEvent, single), s.askedSettled(sideEmpty, ceiling, 0, i), s.full(sideBulk, bulk))
	if err != nil {
		return err
	}
	s.samples("CPU of an event / of an empty workflow", "", figures.AtMost(1.35), t.ratios(sideEvent, sideEmpty, cpuOf))
	s.samples("end to end / ceiling", "", figures.AtLeast(0.75), t.ratios(sideEvent, sideEmpty, rateOf))
	s.samples("bulk / empty workflows", "", figures.AtLeast(15), t.ratios(sideBulk, sideEmpty, rateOf))
	s.samples("CPU of our database, an event", "ms", nil, t.values(sideEvent, databaseOf))
	s.samples("CPU of a bulk event / of an empty workflow", "", nil, t.ratios(sideBulk, sideEmpty, cpuOf))
	s.samples("events end to end", "/s", nil, t.values(sideEvent, rateOf))
	s.samples("empty workflows", "/s", nil, t.values(sideEmpty, rateOf))
	s.samples("bulk events end to end", "/s", nil, t.values(sideBulk, rateOf))
	s.samples("ACK p50 at full load", "ms", nil, t.values(sideEvent, p50Of))
	s.samples("ACK p99 at full load", "ms", nil, t.values(sideEvent, p99Of))
	s.samples("share that went through the inbox", "", nil, t.values(sideEvent, spooledOf))
	return errors.Join(s.takeProfile(ctx, "throughput", single), s.takeProfile(ctx, "bulk", bulk))
}

// load returns the load of a provider on a node.
func load(node *lab.Node, provider string) drive {
	return drive{nodes: []*lab.Node{node}, provider: provider}
}

// firstEvents is the size of a side's first slice at full load.
const firstEvents = 200

// full returns a side of events at full load. The size of a slice follows from the rate of the one before: with all events that
// are accepted in its time, the inbox would stay busy for several times as long.
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

// allAccepted fails on refused requests, which would make the rest of a load look cheap.
func allAccepted(r loadgen.Result) error {
	if r.OK < r.Requests {
		return fmt.Errorf("of %d requests %d were accepted: %v, %d without an answer", r.Requests, r.OK, r.Statuses, r.NoAnswer)
	}
	return nil
}

// inSlice returns how many requests fill a slice.
func (s *suite) inSlice(got driven) int64 {
	each := float64(got.result.Requests) / float64(max(got.result.Events, 1)) // a batch has more events
	return int64(max(each*got.perSecond()*s.lasting(sliceTime).Seconds(), 50))
}
