package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
)

// restTime is how long everything is left alone.
const restTime = time.Minute

// atRest measures what everything uses after a warm-up, without load: with the profile of the other phases, and with the one for
// small installations, for which the goals are.
func atRest(ctx context.Context, s *suite) (err error) {
	if err := s.rested(ctx, "", nil, nil); err != nil {
		return err
	}
	usual := s.lab.Profile
	small, err := lab.ReadSmallProfile(s.root)
	if err != nil {
		return err
	}
	if err := s.reopen(ctx, small); err != nil {
		return err
	}
	err = s.rested(ctx, ", small installation", figures.AtMost(1.3), figures.AtMost(500))
	return errors.Join(err, s.reopen(ctx, usual))
}

// rested measures a product at rest, and adds a suffix to the names of its values.
func (s *suite) rested(ctx context.Context, suffix string, cpuGoal, memoryGoal *figures.Goal) error {
	return s.serving(ctx, lab.ProductDatabase, func(*lab.Node) error {
		length := s.lasting(restTime)
		_, used, err := s.measureIdle(ctx, length)
		if err != nil {
			return err
		}
		perMinute := time.Minute.Seconds() / length.Seconds()
		s.value("CPU of everything"+suffix, "s/min", cpuGoal, used.Total(lab.LabelLoad).Seconds()*perMinute)
		last := s.lab.Meter.Sample()
		temporal, serve := mebibytes(last.RSS[lab.LabelTemporal]), mebibytes(last.RSS[lab.LabelHoldfast])
		postgres := mebibytes(s.lab.PostgresMemory())
		s.value("memory of everything"+suffix, "MiB", memoryGoal, temporal+serve+postgres)
		for _, one := range []struct {
			name  string
			value float64
		}{{"Temporal", temporal}, {"serve", serve}, {"PostgreSQL", postgres}} {
			s.value("memory of "+one.name+suffix, "MiB", nil, one.value)
		}
		for _, label := range slices.Sorted(maps.Keys(used)) {
			if label != lab.LabelLoad {
				s.value("CPU of "+label+suffix, "s/min", nil, used[label].Seconds()*perMinute)
			}
		}
		return nil
	})
}
