package suite

import (
	"context"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
)

const (
	// startsLookedAt is the size of the sample of runs whose first task is examined.
	startsLookedAt = 1000
	// ordinaryEvents is the number of events whose histories are measured.
	ordinaryEvents = 20
	ordinaryBody   = 420
)

// EagerStarts examines events since a moment of full load. A task that comes with the answer to the start saves Temporal and
// the worker a dispatch.
func (s *Suite) EagerStarts(ctx context.Context, since time.Time) error {
	histories, err := s.Lab.Histories(ctx, lab.ProductDatabase, since, startsLookedAt)
	eager := 0
	for _, h := range histories {
		if h.Eager {
			eager++
		}
	}
	s.Value("starts whose first task came eagerly", "", figures.AtLeast(0.98), float64(eager)/float64(max(len(histories), 1)))
	return err
}

// OrdinaryHistory adds the size of the history of an ordinary event.
func (s *Suite) OrdinaryHistory(ctx context.Context, node *lab.Node) error {
	events, sizes, err := s.HistoriesOf(ctx, lab.ProductDatabase, node)
	s.Samples("history of an ordinary event", "B", nil, sizes)
	s.Samples("events of that history", "", nil, events)
	return err
}

// HistoriesOf sends some ordinary events, and reads the size of their histories from Temporal, in events and bytes.
func (s *Suite) HistoriesOf(ctx context.Context, database string, node *lab.Node) (events, sizes []float64, err error) {
	begun := time.Now()
	d := Load(node, Stripe)
	d.Database, d.Count, d.Connections, d.BodySize = database, ordinaryEvents, 1, ordinaryBody
	if _, err := s.Drive(ctx, d); err != nil {
		return nil, nil, err
	}
	histories, err := s.Lab.Histories(ctx, database, begun, ordinaryEvents)
	for _, h := range histories {
		events, sizes = append(events, float64(h.Events)), append(sizes, float64(h.Size))
	}
	return events, sizes, err
}
