package runs

import (
	"context"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"holdfast/event/operation"
)

// OpenRuns returns up to limit open runs of events that were started before a time, and their total number. If there are more, it
// returns some of the oldest.
func (r *Reader) OpenRuns(ctx context.Context, before time.Time, limit int) (runs []operation.OpenRun, total int, err error) {
	total, err = r.countOpen(ctx, before)
	if err != nil || total == 0 {
		return nil, 0, err
	}
	if total > limit {
		if before, err = r.oldestBefore(ctx, before, limit); err != nil {
			return nil, 0, err
		}
	}
	response, err := r.client.ListWorkflow(ctx,
		&workflowservice.ListWorkflowExecutionsRequest{Query: openRuns + startedUntil(before), PageSize: int32(limit)})
	if err != nil {
		return nil, 0, fmt.Errorf("list open runs: %w", err)
	}
	for _, info := range response.GetExecutions() {
		run, err := r.openRun(ctx, info)
		if err != nil {
			return nil, 0, err
		}
		if run != nil {
			runs = append(runs, *run)
		}
	}
	return runs, max(total-(len(response.GetExecutions())-len(runs)), len(runs)), nil
}

func startedUntil(t time.Time) string {
	return " AND StartTime < '" + t.UTC().Format(time.RFC3339Nano) + "'"
}

func (r *Reader) countOpen(ctx context.Context, before time.Time) (int, error) {
	count, err := r.client.CountWorkflow(ctx,
		&workflowservice.CountWorkflowExecutionsRequest{Query: openRuns + startedUntil(before)})
	if err != nil {
		return 0, fmt.Errorf("count open runs: %w", err)
	}
	return int(count.GetCount()), nil
}

// Limits of oldestBefore: the max age of the oldest run, and the max number of queries.
const (
	oldestAge   = 64 * 24 * time.Hour
	maxHalvings = 12
)

// oldestBefore finds a time before which at most limit runs were started, by bisection: Temporal only lists the newest first.
func (r *Reader) oldestBefore(ctx context.Context, before time.Time, limit int) (time.Time, error) {
	young, old := before, before.Add(-oldestAge)
	for range maxHalvings {
		middle := old.Add(young.Sub(old) / 2)
		n, err := r.countOpen(ctx, middle)
		switch {
		case err != nil:
			return before, err
		case n > limit:
			young = middle
		case n == 0:
			old = middle
		default:
			return middle, nil
		}
	}
	return young, nil
}

// openRun describes a run that the list shows as open; nil if it has ended.
func (r *Reader) openRun(ctx context.Context, info *workflowpb.WorkflowExecutionInfo) (*operation.OpenRun, error) {
	run := runOf(info)
	described, err := r.client.DescribeWorkflowExecution(ctx, run.WorkflowID, run.RunID)
	if isNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("describe workflow %s: %w", run.WorkflowID, err)
	}
	if described.GetWorkflowExecutionInfo().GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return nil, nil
	}
	return &operation.OpenRun{
		Run: run, EventID: memoEventID(info, r.converter), StartedAt: info.GetStartTime().AsTime(),
		TaskAttempts: int(described.GetPendingWorkflowTask().GetAttempt()),
	}, nil
}
