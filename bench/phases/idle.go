package phases

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
	"holdfast/bench/suite"
)

// restTime is how long everything is left alone.
const restTime = time.Minute

// atRest measures what everything uses after a warm-up, without load: with the profile of the other phases, and with the one for
// small installations, for which the goals are.
func atRest(ctx context.Context, s *bench) (err error) {
	if err := s.rested(ctx, "", nil, nil); err != nil {
		return err
	}
	usual := s.Lab.Profile
	small, err := lab.ReadSmallProfile(s.Root)
	if err != nil {
		return err
	}
	if err := s.Reopen(ctx, small); err != nil {
		return err
	}
	err = s.rested(ctx, ", small installation", figures.AtMost(1.3), figures.AtMost(500))
	return errors.Join(err, s.Reopen(ctx, usual))
}

// rested measures a product at rest, and adds a suffix to the names of its values.
func (s *bench) rested(ctx context.Context, suffix string, cpuGoal, memoryGoal *figures.Goal) error {
	return s.Serving(ctx, lab.ProductDatabase, func(*lab.Node) error {
		length := s.Lasting(restTime)
		_, used, err := s.MeasureIdle(ctx, length)
		if err != nil {
			return err
		}
		perMinute := time.Minute.Seconds() / length.Seconds()
		s.Value("CPU of everything"+suffix, "s/min", cpuGoal, used.Total(lab.LabelLoad).Seconds()*perMinute)
		last := s.Lab.Meter.Sample()
		temporal, serve := suite.Mebibytes(last.RSS[lab.LabelTemporal]), suite.Mebibytes(last.RSS[lab.LabelHoldfast])
		postgres := suite.Mebibytes(s.Lab.PostgresMemory())
		s.Value("memory of everything"+suffix, "MiB", memoryGoal, temporal+serve+postgres)
		for _, one := range []struct {
			name  string
			value float64
		}{{"Temporal", temporal}, {"serve", serve}, {"PostgreSQL", postgres}} {
			s.Value("memory of "+one.name+suffix, "MiB", nil, one.value)
		}
		for _, label := range slices.Sorted(maps.Keys(used)) {
			if label != lab.LabelLoad {
				s.Value("CPU of "+label+suffix, "s/min", nil, used[label].Seconds()*perMinute)
			}
		}
		return nil
	})
}
