package runs

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"

	"holdfast/event"
	"holdfast/workflows"
)

// Batches starts runs of batches as workflows.
type Batches struct {
	// Eager is that of a Starter.
	Eager bool

	client client.Client
	limit  time.Duration // of a start
}

// NewBatches makes batches. A start may take startTimeout.
func NewBatches(c client.Client, startTimeout time.Duration) *Batches {
	return &Batches{client: c, limit: startTimeout}
}

// Run has no time-out for the batch: one that is in trouble is retried by its own workflow, and no other would fare better.
func (b *Batches) Run(ctx context.Context, limit int) (taken int, err error) {
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

func (b *Batches) start(ctx context.Context, limit int) (client.WorkflowRun, error) {
	ctx, cancel := WithTimeout(ctx, b.limit)
	defer cancel()
	return b.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:               event.BatchWorkflowID(uuid.Must(uuid.NewV7()).String()),
		TaskQueue:        workflows.QueueBulk,
		EnableEagerStart: b.Eager,
		StaticSummary:    "bulk lane",
	}, workflows.TypeProcessBatch, limit)
}
