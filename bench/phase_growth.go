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

func (s *suite) compareGrown(ctx context.Context) error {
	temporalBefore, err := s.lab.TemporalSize(ctx)
	if err != nil {
		return err
	}
	var processed int64
	t, err := s.alternate(ctx, s.onDatabase(emptyDatabase, &processed), s.onDatabase(fullDatabase, &processed))
	if err != nil {
		return err
	}
	temporalAfter, err := s.lab.TemporalSize(ctx)
	if err != nil {
		return err
	}
	s.samples("end to end, full / empty database", "", figures.AtLeast(0.9), t.ratios(fullDatabase, emptyDatabase, rateOf))
	s.samples("CPU of an event, full / empty database", "", nil, t.ratios(fullDatabase, emptyDatabase, cpuOf))
	s.samples("events end to end, empty database", "/s", nil, t.values(emptyDatabase, rateOf))
	s.samples("events end to end, full database", "/s", nil, t.values(fullDatabase, rateOf))
	s.value("bytes an event, in Temporal's tables and indexes", "B", nil, float64(temporalAfter-temporalBefore)/float64(processed))
	return nil
}

// onDatabase is a side with a process of its own: two at a time would take each other's workflows.
func (s *suite) onDatabase(database string, processed *int64) side {
	return side{database, func(ctx context.Context) (one slice, err error) {
		err = s.serving(ctx, database, func(node *lab.Node) error {
			d := load(node, stripe)
			d.database, d.Count = database, s.scaled(ownEvents)
			got, err := s.drive(ctx, d)
			*processed += got.result.Accepted + s.scaled(warmUpEvents)
			one = sliceOf(got)
			return err
		})
		return one, err
	}}
}
