package main

import (
	"context"
	"fmt"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
	"holdfast/loadgen"
)

const duplicateEvents = 2000

// pure is the share of a run that must be what the run is to measure: events at first, duplicates then.
const pure = 0.95

// duplicates sends a run twice. Two runs with the same ID, seed and time are the same events, byte for byte.
func duplicates(ctx context.Context, s *suite) error {
	return s.serving(ctx, lab.ProductDatabase, func(node *lab.Node) error {
		d := drive{nodes: []*lab.Node{node}}
		d.Run, d.Seed, d.At, d.Count = loadgen.RandomRun(), 7, time.Now(), s.scaled(duplicateEvents)
		first, err := s.drive(ctx, d)
		if err != nil {
			return err
		}
		d.profile = s.phase.Name
		second, err := s.drive(ctx, d)
		if err != nil {
			return err
		}
		accepted := first.result.Accepted + first.result.Spooled
		if least := int64(pure * float64(d.Count)); accepted < least || second.result.Duplicates < least {
			return fmt.Errorf("of %d events %d were accepted at first, and %d were duplicates when they were sent again",
				d.Count, accepted, second.result.Duplicates)
		}
		event, duplicate := s.charge("event", first.used, d.Count), s.charge("duplicate", second.used, d.Count)
		s.figure("CPU of a duplicate / of an event", "", figures.AtMost(0.5), duplicate/event)
		s.figure("duplicates", "/s", nil, second.result.PerSecond)
		return nil
	})
}
