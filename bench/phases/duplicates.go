package phases

import (
	"context"
	"fmt"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
	"holdfast/bench/loadgen"
	"holdfast/bench/suite"
)

const (
	// duplicateConnections are few enough that hardly any event has to go to the inbox.
	duplicateConnections = 8
	// pure is the minimum share of duplicates in a slice.
	pure = 0.95
)

// duplicates compares new events with the last slice's events, sent again.
func duplicates(ctx context.Context, s *bench) error {
	return s.Serving(ctx, lab.ProductDatabase, func(node *lab.Node) error {
		const sideDuplicate = "duplicate"
		event, duplicate := s.twice(suite.Load(node, suite.Stripe))
		event.Name, duplicate.Name = sideEvent, sideDuplicate
		t, err := s.Alternate(ctx, event, duplicate)
		if err != nil {
			return err
		}
		s.Samples("CPU of a duplicate / of an event", "", figures.AtMost(0.5), t.Ratios(sideDuplicate, sideEvent, suite.CPUOf))
		return nil
	})
}

// twice returns two sides: one of new events, and one of those of its last slice, sent again. Two runs with the same ID, seed
// and time have the same events, byte for byte.
func (s *bench) twice(d drive) (event, duplicate side) {
	next := s.Scaled(suite.FirstEvents)
	event.Measure = func(ctx context.Context) (slice, error) {
		d.Run, d.Seed, d.At, d.Count = loadgen.RandomRun(), 7, time.Now(), next
		got, err := s.Drive(ctx, d)
		next = s.InSlice(got)
		return suite.SliceOf(got), err
	}
	duplicate.Measure = func(ctx context.Context) (slice, error) {
		again := d
		again.Connections = duplicateConnections
		got, err := s.Drive(ctx, again)
		// A duplicate that is in the inbox is recognised later.
		if known := got.Result.Duplicates + got.Result.Spooled; err == nil && known < int64(pure*float64(d.Count)) {
			err = fmt.Errorf("of %d events that were sent again %d were duplicates", d.Count, known)
		}
		one := suite.SliceOf(got)
		one.Rate = got.Result.PerSecond // none is processed
		return one, err
	}
	return event, duplicate
}
