package main

import (
	"context"
	"fmt"
	"slices"

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
	s.figure("bytes an event, in our tables and indexes", "B", nil, float64(after-before)/float64(events))
	if err := s.checkPlans(ctx, fullDatabase); err != nil {
		return err
	}
	return s.compareGrown(ctx)
}

func (s *suite) compareGrown(ctx context.Context) error {
	var ratios, empty, full, emptyCost, fullCost []float64
	temporalBefore, err := s.lab.TemporalSize(ctx)
	if err != nil {
		return err
	}
	for n := range s.rounds {
		databases := []string{emptyDatabase, fullDatabase}
		if n%2 == 1 {
			slices.Reverse(databases) // the machine's speed drifts, and must favour neither
		}
		rate, cost := map[string]float64{}, map[string]float64{}
		for _, database := range databases {
			if rate[database], cost[database], err = s.onDatabase(ctx, database); err != nil {
				return fmt.Errorf("round %d: %w", n+1, err)
			}
		}
		ratios = append(ratios, rate[fullDatabase]/rate[emptyDatabase])
		empty, full = append(empty, rate[emptyDatabase]), append(full, rate[fullDatabase])
		emptyCost, fullCost = append(emptyCost, cost[emptyDatabase]), append(fullCost, cost[fullDatabase])
	}
	temporalAfter, err := s.lab.TemporalSize(ctx)
	if err != nil {
		return err
	}
	processed := int64(2*s.rounds) * (s.scaled(productEvents) + s.scaled(warmUpEvents))
	s.figure("end to end, full / empty database", "", figures.AtLeast(0.9), ratios...)
	s.figure("CPU of an event, full / empty database", "", nil, figures.Median(fullCost)/figures.Median(emptyCost))
	s.figure("events end to end, empty database", "/s", nil, empty...)
	s.figure("events end to end, full database", "/s", nil, full...)
	s.figure("bytes an event, in Temporal's tables and indexes", "B", nil, float64(temporalAfter-temporalBefore)/float64(processed))
	return nil
}

func (s *suite) onDatabase(ctx context.Context, database string) (rate, each float64, err error) {
	err = s.serving(ctx, database, func(node *lab.Node) error {
		d := drive{nodes: []*lab.Node{node}, database: database}
		d.Count = s.scaled(productEvents)
		got, err := s.drive(ctx, d)
		rate, each = got.perSecond(), sum(cost(got.used, d.Count))
		return err
	})
	return rate, each, err
}
