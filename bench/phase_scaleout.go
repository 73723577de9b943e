package main

import (
	"context"
	"errors"
	"fmt"

	"holdfast/bench/lab"
)

const scaleOutEvents = 2500

// scaleOut runs the roles apart: no event is started eagerly, since its worker is another process.
func scaleOut(ctx context.Context, s *suite) error {
	cores := float64(s.cores())
	for _, workers := range []int{1, 2, 4} {
		var rates, busy []float64
		for range s.rounds {
			got, err := s.withWorkers(ctx, workers)
			if err != nil {
				return fmt.Errorf("%d workers: %w", workers, err)
			}
			rates = append(rates, got.perSecond())
			busy = append(busy, got.used.Total().Seconds()/got.ended.Sub(got.begun).Seconds()/cores)
			if len(rates) == 1 {
				s.charge(fmt.Sprintf("event, %d workers", workers), got.used, got.result.OK)
			}
		}
		s.figure(fmt.Sprintf("events end to end, %d workers", workers), "/s", nil, rates...)
		// At 1 the machine is full: more processes only share it.
		s.figure(fmt.Sprintf("share of the machine in use, %d workers", workers), "", nil, busy...)
	}
	return nil
}

func (s *suite) withWorkers(ctx context.Context, workers int) (got driven, err error) {
	var nodes []*lab.Node
	defer func() {
		for _, n := range nodes {
			err = errors.Join(err, n.Stop())
		}
	}()
	for i := range workers + 1 {
		role := "worker"
		if i == workers {
			role = "ingress"
		}
		n, err := s.lab.StartProduct(ctx, role, lab.ProductDatabase)
		if err != nil {
			return got, err
		}
		nodes = append(nodes, n)
	}
	d := drive{nodes: nodes}
	d.Targets = []string{nodes[workers].Ingress}
	warm := d
	warm.Count = s.scaled(warmUpEvents)
	if _, err := s.drive(ctx, warm); err != nil {
		return got, err
	}
	d.Count = s.scaled(scaleOutEvents)
	return s.drive(ctx, d)
}
