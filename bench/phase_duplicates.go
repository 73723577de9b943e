package main

import (
	"context"
	"fmt"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
	"holdfast/bench/loadgen"
)

const (
	// duplicateConnections are few enough that hardly any event has to go to the inbox.
	duplicateConnections = 8
	// pure is the minimum share of duplicates in a slice.
	pure = 0.95
)

// duplicates compares new events with those of the last slice, sent again.
func duplicates(ctx context.Context, s *suite) error {
	return s.serving(ctx, lab.ProductDatabase, func(node *lab.Node) error {
		const sideDuplicate = "duplicate"
		event, duplicate := s.twice(load(node, stripe))
		event.name, duplicate.name = sideEvent, sideDuplicate
		t, err := s.alternate(ctx, event, duplicate)
		if err != nil {
			return err
		}
		s.samples("CPU of a duplicate / of an event", "", figures.AtMost(0.5), t.ratios(sideDuplicate, sideEvent, cpuOf))
		return nil
	})
}

// twice returns two sides: one of new events, and one of those of its last slice, sent again. Two runs with the same ID, seed
// and time have the same events, byte for byte.
func (s *suite) twice(d drive) (event, duplicate side) {
	next := s.scaled(firstEvents)
	event.measure = func(ctx context.Context) (slice, error) {
		d.Run, d.Seed, d.At, d.Count = loadgen.RandomRun(), 7, time.Now(), next
		got, err := s.drive(ctx, d)
		next = s.inSlice(got)
		return sliceOf(got), err
	}
	duplicate.measure = func(ctx context.Context) (slice, error) {
		again := d
		again.Connections = duplicateConnections
		got, err := s.drive(ctx, again)
		// A duplicate that is in the inbox is recognised later.
		if known := got.result.Duplicates + got.result.Spooled; err == nil && known < int64(pure*float64(d.Count)) {
			err = fmt.Errorf("of %d events that were sent again %d were duplicates", d.Count, known)
		}
		one := sliceOf(got)
		one.rate = got.result.PerSecond // none is processed
		return one, err
	}
	return event, duplicate
}
