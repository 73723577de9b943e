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
	return s.compareGrown(ctx)
}

// compareGrown alternates between products, one for each database.
func (s *suite) compareGrown(ctx context.Context) error {
	return s.serving(ctx, emptyDatabase, func(empty *lab.Node) error {
		return s.serving(ctx, fullDatabase, func(full *lab.Node) error {
			before, err := s.temporalHas(ctx, empty, full)
			if err != nil {
				return err
			}
			t, err := s.alternate(ctx, s.onDatabase(emptyDatabase, emptyDatabase, empty),
				s.onDatabase(fullDatabase, fullDatabase, full))
			if err != nil {
				return err
			}
			s.samples("end to end, full / empty database", "", figures.AtLeast(0.9), t.ratios(fullDatabase, emptyDatabase, rateOf))
			s.samples("CPU of an event, full / empty database", "", nil, t.ratios(fullDatabase, emptyDatabase, cpuOf))
			s.samples("events end to end, empty database", "/s", nil, t.values(emptyDatabase, rateOf))
			s.samples("events end to end, full database", "/s", nil, t.values(fullDatabase, rateOf))
			after, err := s.temporalHas(ctx, empty, full)
			s.value("bytes an event, in Temporal's tables and indexes", "B", nil,
				float64(after.bytes-before.bytes)/float64(max(after.events-before.events, 1)))
			return err
		})
	})
}

// kept is what Temporal stores of the finished events of some processes.
type kept struct{ bytes, events int64 }

func (s *suite) temporalHas(ctx context.Context, nodes ...*lab.Node) (k kept, err error) {
	if k.events, err = processed(ctx, nodes); err != nil {
		return k, err
	}
	k.bytes, err = s.lab.TemporalSize(ctx)
	return k, err
}
