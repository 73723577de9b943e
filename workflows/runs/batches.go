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

// Batches runs batches of the bulk lane as workflows.
type Batches struct {
	// Eager: see Starter.
	Eager bool

	client client.Client
	limit  time.Duration // start timeout
}

// NewBatches returns a Batches whose starts may take startTimeout.
func NewBatches(c client.Client, startTimeout time.Duration) *Batches {
	return &Batches{client: c, limit: startTimeout}
}

// Run runs a batch and returns the number of events. It sets no timeout: a failing batch is retried by its workflow, and another
// one would fail, too.
func (b *Batches) Run(ctx context.Context, limit int) (claimed int, err error) {
	run, err := b.start(ctx, limit)
	if err != nil {
		return 0, fmt.Errorf("start batch: %w", err)
	}
	var result workflows.BatchResult
	if err := run.Get(ctx, &result); err != nil {
		return 0, fmt.Errorf("run batch %s: %w", run.GetID(), err)
	}
	return result.Claimed, nil
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
