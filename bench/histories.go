package main

import (
	"context"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
)

const (
	// startsLookedAt are as many runs, drawn from all of full load, as are asked whether their first task came with the start.
	startsLookedAt = 1000
	// ordinaryEvents have a body of so many bytes.
	ordinaryEvents = 20
	ordinaryBody   = 420
)

// eagerStarts looks at events that came since a moment of full load. A task that comes with the answer to the start spares
// Temporal and the worker a dispatch.
func (s *suite) eagerStarts(ctx context.Context, since time.Time) error {
	histories, err := s.lab.Histories(ctx, lab.ProductDatabase, since, startsLookedAt)
	eager := 0
	for _, h := range histories {
		if h.Eager {
			eager++
		}
	}
	s.value("starts whose first task came eagerly", "", figures.AtLeast(0.98), float64(eager)/float64(max(len(histories), 1)))
	return err
}

func (s *suite) ordinaryHistory(ctx context.Context, node *lab.Node) error {
	events, sizes, err := s.historiesOf(ctx, lab.ProductDatabase, node)
	s.samples("history of an ordinary event", "B", figures.AtMost(2000), sizes)
	s.samples("events of that history", "", nil, events)
	return err
}

// historiesOf sends some events that nothing is special about, and reads how large Temporal says that their histories are: how
// many events each has, and bytes.
func (s *suite) historiesOf(ctx context.Context, database string, node *lab.Node) (events, sizes []float64, err error) {
	begun := time.Now()
	d := load(node, stripe)
	d.database, d.Count, d.Connections, d.BodySize = database, ordinaryEvents, 1, ordinaryBody
	if _, err := s.drive(ctx, d); err != nil {
		return nil, nil, err
	}
	histories, err := s.lab.Histories(ctx, database, begun, ordinaryEvents)
	for _, h := range histories {
		events, sizes = append(events, float64(h.Events)), append(sizes, float64(h.Size))
	}
	return events, sizes, err
}
