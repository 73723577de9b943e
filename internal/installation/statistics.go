package installation

import (
	"context"
	"time"

	"go.temporal.io/sdk/client"

	"holdfast/event"
	"holdfast/internal/config"
	"holdfast/persistence"
	"holdfast/runs"
)

// Statistics are what the database and Temporal know. Those of Temporal are left out while it does not answer.
type Statistics struct {
	store  *persistence.Store
	queues runs.Queues
}

// NewStatistics reads from the stores that it is given.
func NewStatistics(cfg config.Config, store *persistence.Store, temporal client.Client) Statistics {
	return Statistics{store, runs.Queues{Client: temporal, Namespace: cfg.Temporal.Namespace}}
}

// queuesTimeout bounds the question for the queues, so that statistics come while Temporal is down.
const queuesTimeout = 2 * time.Second

// Stats counts the events and errors of the window, and reads the backlog of each task queue.
func (s Statistics) Stats(ctx context.Context, window time.Duration) (event.Stats, error) {
	stats, err := s.store.Stats(ctx, window)
	if err != nil {
		return event.Stats{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, queuesTimeout)
	defer cancel()
	if queues, err := s.queues.Read(ctx); err == nil {
		stats.Queues = queues
	}
	return stats, nil
}
