package ingress

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"

	"holdfast/event"
	"holdfast/workflows"
)

// TemporalBatches starts runs of batches as workflows.
type TemporalBatches struct {
	client client.Client
	limit  time.Duration // of a start
}

// NewBatches makes batches. A start may take startTimeout.
func NewBatches(c client.Client, startTimeout time.Duration) *TemporalBatches {
	return &TemporalBatches{client: c, limit: startTimeout}
}

// Run has no time-out for the batch: one that is in trouble is retried by its own workflow, and no other would fare better.
func (b *TemporalBatches) Run(ctx context.Context, limit int) (taken int, err error) {
	run, err := b.start(ctx, limit)
	if err != nil {
		return 0, fmt.Errorf("start batch: %w", err)
	}
	var result workflows.BatchResult
	if err := run.Get(ctx, &result); err != nil {
		return 0, fmt.Errorf("run batch %s: %w", run.GetID(), err)
	}
	return result.Taken, nil
}

func (b *TemporalBatches) start(ctx context.Context, limit int) (client.WorkflowRun, error) {
	ctx, cancel := withTimeout(ctx, b.limit)
	defer cancel()
	return b.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:               event.BatchWorkflowID(uuid.Must(uuid.NewV7()).String()),
		TaskQueue:        workflows.QueueBulk,
		EnableEagerStart: true,
		StaticSummary:    "bulk lane",
	}, workflows.TypeProcessBatch, limit)
}
