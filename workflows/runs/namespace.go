package runs

import (
	"context"
	"errors"
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"holdfast/workflows"
)

// Namespace is Holdfast's Temporal namespace.
type Namespace struct {
	Client client.Client
	Name   string
}

// Retention returns how long Temporal keeps a closed run, which can be read and reset until then.
func (n Namespace) Retention(ctx context.Context) (time.Duration, error) {
	described, err := n.Client.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: n.Name})
	if err != nil {
		return 0, failure("read the retention of namespace "+n.Name, err)
	}
	return described.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration(), nil
}

// errStillRunning is returned for a workflow whose latest run is open.
var errStillRunning = errors.New("its latest run is still open: let it end, or cancel it, first")

// deleteTimeout bounds the wait for Temporal to delete a run, which it does in the background.
const deleteTimeout = time.Minute

// Delete deletes every run of an event's workflow, with its history, and returns the number of runs. It waits until Temporal no
// longer has them: a sweep that heals a lost expunge must not find them. An unknown workflow isn't an error. Runs of another
// type with the same workflow ID belong to another application and are kept.
func (n Namespace) Delete(ctx context.Context, workflowID string) (int, error) {
	c := n.Client
	doing := "delete runs of workflow " + workflowID
	latest, err := c.DescribeWorkflowExecution(ctx, workflowID, "")
	if isNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, failure(doing, err)
	}
	info := latest.GetWorkflowExecutionInfo()
	isEvents := info.GetType().GetName() == workflows.TypeProcessEvent
	if isEvents && info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return 0, fmt.Errorf("%s: %w", doing, errStillRunning)
	}
	runs, err := runIDs(ctx, c, workflowID)
	if err != nil {
		return 0, failure(doing, err)
	}
	if isEvents {
		runs[info.GetExecution().GetRunId()] = true // the list may lag behind
	}
	for id := range runs {
		_, err := c.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{
			Namespace:         n.Name,
			WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: workflowID, RunId: id},
		})
		if err != nil && !isNotFound(err) {
			return 0, failure(doing, err)
		}
	}
	return len(runs), awaitDeleted(ctx, c, workflowID, runs)
}

func awaitDeleted(ctx context.Context, c client.Client, workflowID string, runIDs map[string]bool) error {
	ctx, cancel := WithTimeout(ctx, deleteTimeout)
	defer cancel()
	for id := range runIDs {
		_, err := c.DescribeWorkflowExecution(ctx, workflowID, id)
		for ; err == nil; _, err = c.DescribeWorkflowExecution(ctx, workflowID, id) {
			select {
			case <-ctx.Done():
				return fmt.Errorf("delete runs of workflow %s: Temporal hasn't deleted them yet: run the command again", workflowID)
			case <-time.After(deletePoll):
			}
		}
		if !isNotFound(err) {
			return failure("delete runs of workflow "+workflowID, err)
		}
	}
	return nil
}

const deletePoll = 200 * time.Millisecond

func runIDs(ctx context.Context, c client.Client, workflowID string) (map[string]bool, error) {
	runs := map[string]bool{}
	request := &workflowservice.ListWorkflowExecutionsRequest{Query: fmt.Sprintf(
		"WorkflowId = %q AND WorkflowType = '%s'", workflowID, workflows.TypeProcessEvent)}
	for {
		page, err := c.ListWorkflow(ctx, request)
		if err != nil {
			return nil, err
		}
		for _, e := range page.GetExecutions() {
			runs[e.GetExecution().GetRunId()] = true
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			return runs, nil
		}
	}
}
