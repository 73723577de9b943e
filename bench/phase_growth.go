package main

import (
	"context"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
)

const (
	growthEvents   = 2_000_000
	growthEntities = 200_000
	emptyDatabase  = "growth_empty"
	fullDatabase   = "growth_full"
)

func growth(ctx context.Context, s *suite) error {
	events, entities := int(s.scaled(growthEvents)), int(s.scaled(growthEntities))
	for _, database := range []string{emptyDatabase, fullDatabase} {
		if err := s.lab.Migrate(ctx, database); err != nil {
			return err
		}
	}
	before, err := s.lab.Size(ctx, fullDatabase)
	if err != nil {
		return err
	}
	s.say("  storing %d events of long ago", events)
	if err := s.lab.Fill(ctx, fullDatabase, events, entities); err != nil {
		return err
	}
	after, err := s.lab.Size(ctx, fullDatabase)
	if err != nil {
		return err
	}
	s.value("bytes an event, in our tables and indexes", "B", nil, float64(after-before)/float64(events))
	if err := s.checkPlans(ctx, fullDatabase); err != nil {
		return err
	}
	return s.compareGrown(ctx)
}

// compareGrown has a product for each database, which take turns.
func (s *suite) compareGrown(ctx context.Context) error {
	return s.serving(ctx, emptyDatabase, func(empty *lab.Node) error {
		return s.serving(ctx, fullDatabase, func(full *lab.Node) error {
			t, err := s.alternate(ctx, s.onDatabase(emptyDatabase, emptyDatabase, empty),
				s.onDatabase(fullDatabase, fullDatabase, full))
			if err != nil {
				return err
			}
			s.samples("end to end, full / empty database", "", figures.AtLeast(0.9), t.ratios(fullDatabase, emptyDatabase, rateOf))
			s.samples("CPU of an event, full / empty database", "", nil, t.ratios(fullDatabase, emptyDatabase, cpuOf))
			s.samples("events end to end, empty database", "/s", nil, t.values(emptyDatabase, rateOf))
			s.samples("events end to end, full database", "/s", nil, t.values(fullDatabase, rateOf))
			return nil
		})
	})
}
