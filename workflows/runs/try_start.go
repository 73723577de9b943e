package runs

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
)

const (
	// probeID is the one workflow that TryStart starts. No worker polls its queue, so that it ends by its time limit.
	probeID      = "holdfast-health"
	probeTimeout = 10 * time.Second
)

// TryStart starts a workflow that does nothing, or finds that it was started before: Temporal has then written a history and
// compared it with the earlier run. So it leaves one run per retention behind, and a Temporal that can't write fails.
func (s *Starter) TryStart(ctx context.Context) error {
	_, err := s.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: probeID, TaskQueue: probeID, WorkflowExecutionTimeout: probeTimeout,
		WorkflowIDReusePolicy:                    enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowIDConflictPolicy:                 enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
	}, probeID)
	var started *serviceerror.WorkflowExecutionAlreadyStarted
	if err == nil || errors.As(err, &started) {
		return nil
	}
	return fmt.Errorf("try a start: %w", err)
}
