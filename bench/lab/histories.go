package lab

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// History describes the history that Temporal has of an event.
type History struct {
	// Events is the number of history events, and Size their bytes, as counted by Temporal.
	Events, Size int64
	// Eager means that the first task came with the answer to the start.
	Eager bool
}

// Histories returns the histories of n events that the product received since a moment, except for the bulk lane's.
func (l *Lab) Histories(ctx context.Context, database string, since time.Time, most int) (all []History, err error) {
	conn, err := pgx.Connect(ctx, l.Postgres.URL(database))
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, `SELECT workflow_id, run_id FROM events
 WHERE received_at >= $1 AND provider <> 'firehose' ORDER BY random() LIMIT $2`, since, most)
	if err != nil {
		return nil, err
	}
	runs, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct{ WorkflowID, RunID string }])
	if err != nil {
		return nil, err
	}
	c, err := client.DialContext(ctx, l.clientOptions(database))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	for _, run := range runs {
		h, err := history(ctx, c, l.Namespace(database), run.WorkflowID, run.RunID)
		if err != nil {
			return nil, err
		}
		all = append(all, h)
	}
	return all, nil
}

func history(ctx context.Context, c client.Client, namespace, workflowID, runID string) (h History, err error) {
	described, err := c.DescribeWorkflowExecution(ctx, workflowID, runID)
	if err != nil {
		return h, err
	}
	page, err := c.WorkflowService().GetWorkflowExecutionHistory(ctx, &workflowservice.GetWorkflowExecutionHistoryRequest{
		Namespace: namespace, MaximumPageSize: 1,
		Execution: &commonpb.WorkflowExecution{WorkflowId: workflowID, RunId: runID},
	})
	if err != nil {
		return h, err
	}
	h.Events = described.GetWorkflowExecutionInfo().GetHistoryLength()
	h.Size = described.GetWorkflowExecutionInfo().GetHistorySizeBytes()
	for _, e := range page.GetHistory().GetEvents() {
		h.Eager = h.Eager || e.GetWorkflowExecutionStartedEventAttributes().GetEagerExecutionAccepted()
	}
	return h, nil
}
