package main

import (
	"context"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
)

// restTime is how long everything is left alone.
const restTime = time.Minute

// atRest measures what everything uses after a warm-up, without load.
func atRest(ctx context.Context, s *suite) error {
	return s.serving(ctx, lab.ProductDatabase, func(*lab.Node) error {
		length := s.lasting(restTime)
		_, used, err := s.measureIdle(ctx, length)
		if err != nil {
			return err
		}
		perMinute := time.Minute.Seconds() / length.Seconds()
		s.value("CPU of everything", "s/min", figures.AtMost(1.3), used.Total(lab.LabelLoad).Seconds()*perMinute)
		last := s.lab.Meter.Sample()
		temporal, serve := mebibytes(last.RSS[lab.LabelTemporal]), mebibytes(last.RSS[lab.LabelHoldfast])
		postgres := mebibytes(s.lab.PostgresMemory())
		s.value("memory of everything", "MiB", figures.AtMost(500), temporal+serve+postgres)
		for _, one := range []struct {
			name  string
			value float64
		}{{"Temporal", temporal}, {"serve", serve}, {"PostgreSQL", postgres}} {
			s.value("memory of "+one.name, "MiB", nil, one.value)
		}
		for _, label := range []string{lab.LabelTemporal, lab.LabelHoldfast} {
			s.value("CPU of "+label, "s/min", nil, used[label].Seconds()*perMinute)
		}
		return nil
	})
}
