package main

import (
	"context"
	"errors"
	"fmt"

	"holdfast/bench/lab"
)

// ownEvents are a slice of a side that has processes of its own, which take long to start.
const ownEvents = 500

// scaleOut runs the roles apart: no event is started eagerly, since its worker is another process.
func scaleOut(ctx context.Context, s *suite) error {
	var sides []side
	busy := map[string][]float64{} // at 1 the machine is full: more processes only share it
	name := func(workers int) string { return fmt.Sprintf("event, %d workers", workers) }
	for _, workers := range []int{1, 2, 4} {
		sides = append(sides, side{name(workers), func(ctx context.Context) (slice, error) {
			got, err := s.withWorkers(ctx, workers)
			if err == nil {
				share := got.used.Total().Seconds() / got.ended.Sub(got.begun).Seconds() / float64(s.cores())
				busy[name(workers)] = append(busy[name(workers)], share)
			}
			return sliceOf(got), err
		}})
	}
	t, err := s.alternate(ctx, sides...)
	if err != nil {
		return err
	}
	for _, workers := range []int{1, 2, 4} {
		s.samples(fmt.Sprintf("end to end, %d workers / 1", workers), "", nil, t.ratios(name(workers), name(1), rateOf))
		s.samples(fmt.Sprintf("events end to end, %d workers", workers), "/s", nil, t.values(name(workers), rateOf))
		s.samples(fmt.Sprintf("share of the machine in use, %d workers", workers), "", nil, busy[name(workers)])
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
		n, err := s.lab.StartProduct(ctx, lab.Product{Role: role, Database: lab.ProductDatabase})
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
	d.Count = s.scaled(ownEvents)
	return s.drive(ctx, d)
}
