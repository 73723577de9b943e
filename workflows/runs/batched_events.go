package runs

import (
	"context"
	"fmt"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/workflows"
)

// batchesPage is the page size of batches, whose histories are read one by one.
const batchesPage = 50

// BatchedEvents returns the events that a page of completed batches of the bulk lane has processed, as their histories list
// them.
func (r *Reader) BatchedEvents(
	ctx context.Context, p operation.SweepPage,
) (found []operation.BatchedEvent, next []byte, err error) {
	response, err := r.client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Query: fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus = 'Completed' AND CloseTime >= '%s' AND CloseTime < '%s'",
			workflows.TypeProcessBatch, p.Since.Format(time.RFC3339Nano), p.Until.Format(time.RFC3339Nano)),
		PageSize: batchesPage, NextPageToken: p.Token,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("list batches: %w", err)
	}
	for _, info := range response.GetExecutions() {
		of, err := r.eventsOfBatch(ctx, runOf(info))
		if err != nil {
			return nil, nil, err
		}
		found = append(found, of...)
	}
	return found, response.GetNextPageToken(), nil
}

// eventsOfBatch returns none if the run was deleted.
func (r *Reader) eventsOfBatch(ctx context.Context, run event.Run) (found []operation.BatchedEvent, err error) {
	history := r.client.GetWorkflowHistory(ctx, run.WorkflowID, run.RunID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		e, err := history.Next()
		if isNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read history of batch %s: %w", run.WorkflowID, err)
		}
		found = append(found, r.batchedIn(e)...)
	}
	return found, nil
}

// batchedIn returns the events in the result of a batch's activity. A result that can't be read lists none.
func (r *Reader) batchedIn(e *historypb.HistoryEvent) (found []operation.BatchedEvent) {
	payloads := e.GetActivityTaskCompletedEventAttributes().GetResult()
	if marker := e.GetMarkerRecordedEventAttributes(); marker.GetMarkerName() == localActivityMarker {
		payloads = marker.GetDetails()["result"]
	}
	var result workflows.BatchResult
	if len(payloads.GetPayloads()) == 0 || r.converter.FromPayloads(payloads, &result) != nil {
		return nil
	}
	for _, line := range result.Events {
		if fields := strings.Fields(line); len(fields) >= 3 && fields[0] == string(event.OutcomeProcessed) {
			found = append(found, operation.BatchedEvent{WorkflowID: fields[1], EventID: fields[2]})
		}
	}
	return found
}

// localActivityMarker is the SDK's name of the marker with a local activity's result.
const localActivityMarker = "LocalActivity"
