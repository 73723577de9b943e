package ingress

import (
	"context"
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"holdfast/event"
	"holdfast/workflows"
)

// Replay runs a dead-lettered event again on its own queue: the same workflow ID, event ID and bytes. An
// event.RunExistsError says that its latest run is open or has succeeded.
func (s *Starter) Replay(ctx context.Context, d event.DeadLetter) (event.Run, error) {
	return s.replay(ctx, d, startOptions(d.Receipt, enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY))
}

// Redrive is Replay on the queue of redrives. The first task is not handed to a worker of this process, which would take it
// past that queue.
func (s *Starter) Redrive(ctx context.Context, d event.DeadLetter) (event.Run, error) {
	options := startOptions(d.Receipt, enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY)
	options.TaskQueue = workflows.QueueRedrive
	options.EnableEagerStart = false
	return s.replay(ctx, d, options)
}

func (s *Starter) replay(ctx context.Context, d event.DeadLetter, o client.StartWorkflowOptions) (event.Run, error) {
	run, err := s.client.ExecuteWorkflow(ctx, o, workflows.TypeProcessEvent, d.Receipt, rawPayload(d.Body))
	var started *serviceerror.WorkflowExecutionAlreadyStarted
	var invalid *serviceerror.InvalidArgument
	switch {
	case err == nil:
		return event.Run{WorkflowID: run.GetID(), RunID: run.GetRunID()}, nil
	case errors.As(err, &started):
		return event.Run{}, s.existing(ctx, o.ID, started.RunId)
	case errors.As(err, &invalid):
		return event.Run{}, event.Rejectf("not_startable", "replay workflow %s: %s", o.ID, invalid.Message)
	default:
		return event.Run{}, fmt.Errorf("replay workflow %s: %w", o.ID, err)
	}
}

// existing says what the run is that a replay collided with. One that has failed since is as good as open: it was started by
// somebody who was faster.
func (s *Starter) existing(ctx context.Context, workflowID, runID string) error {
	earlier, err := s.describe(ctx, workflowID, runID)
	if err != nil {
		return err
	}
	return &event.RunExistsError{
		Run:  event.Run{WorkflowID: workflowID, RunID: runID},
		Open: earlier.State != StateProcessed,
	}
}

// LatestRun is the latest run of a workflow; the zero value if there is none.
func (s *Starter) LatestRun(ctx context.Context, workflowID string) (event.LatestRun, error) {
	response, err := s.client.DescribeWorkflowExecution(ctx, workflowID, "")
	if isNotFound(err) {
		return event.LatestRun{}, nil
	}
	if err != nil {
		return event.LatestRun{}, fmt.Errorf("describe workflow %s: %w", workflowID, err)
	}
	info := response.GetWorkflowExecutionInfo()
	state := stateOf(info.GetStatus())
	return event.LatestRun{
		Run:       event.Run{WorkflowID: workflowID, RunID: info.GetExecution().GetRunId()},
		Open:      state == StateProcessing,
		Succeeded: state == StateProcessed,
	}, nil
}

// WakeRedrive makes the workflow of a bulk redrive look at its row, and starts it if there is none.
func (s *Starter) WakeRedrive(ctx context.Context, id string) error {
	workflowID := workflows.RedriveWorkflowID(id)
	_, err := s.client.SignalWithStartWorkflow(ctx, workflowID, workflows.SignalRedriveChanged, nil,
		client.StartWorkflowOptions{
			TaskQueue:             workflows.QueueOperations,
			WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
			StaticSummary:         "bulk redrive " + id,
		}, workflows.TypeRedriveDeadLetters, id)
	if err != nil {
		return fmt.Errorf("wake redrive %s: %w", id, err)
	}
	return nil
}
