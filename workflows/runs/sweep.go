package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/workflows"
)

// Reader reads the runs of events from Temporal, for sweeps and reconciliation.
type Reader struct {
	client    client.Client
	converter converter.DataConverter
}

// NewReader returns a reader. It needs the data converter of the client.
func NewReader(c client.Client, with converter.DataConverter) *Reader {
	return &Reader{client: c, converter: with}
}

const runsPage = 200

// ClosedRuns returns a page of closed runs of events; successful ones only if p.Restored.
func (r *Reader) ClosedRuns(ctx context.Context, p operation.SweepPage) (runs []operation.ClosedRun, next []byte, err error) {
	ended := "'Terminated', 'TimedOut', 'Canceled', 'Failed'"
	if p.Restored {
		ended += ", 'Completed'"
	}
	response, err := r.client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Query: fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus IN (%s) AND CloseTime >= '%s' AND CloseTime < '%s'",
			workflows.TypeProcessEvent, ended, p.Since.Format(time.RFC3339Nano), p.Until.Format(time.RFC3339Nano)),
		PageSize:      int32(cmp.Or(p.Limit, runsPage)),
		NextPageToken: p.Token,
	})
	if err != nil {
		return nil, nil, failure("list closed runs", err)
	}
	for _, info := range response.GetExecutions() {
		runs = append(runs, operation.ClosedRun{
			Run: runOf(info), EventID: memoEventID(info, r.converter), Status: statuses[info.GetStatus()],
			ClosedAt: info.GetCloseTime().AsTime(),
		})
	}
	return runs, response.GetNextPageToken(), nil
}

var statuses = map[enumspb.WorkflowExecutionStatus]string{
	enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED: event.CodeTerminated,
	enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT:  "timed_out",
	enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED:   event.CodeCanceled,
	enumspb.WORKFLOW_EXECUTION_STATUS_FAILED:     "failed",
	enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:  "completed",
}

func runOf(info *workflowpb.WorkflowExecutionInfo) event.Run {
	return event.Run{WorkflowID: info.GetExecution().GetWorkflowId(), RunID: info.GetExecution().GetRunId()}
}

// HasRuns reports whether any run of an event exists, open or closed.
func (r *Reader) HasRuns(ctx context.Context) (bool, error) {
	count, err := r.client.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{
		Query: fmt.Sprintf("WorkflowType IN ('%s', '%s')", workflows.TypeProcessEvent, workflows.TypeProcessBatch),
	})
	if err != nil {
		return false, failure("count runs", err)
	}
	return count.GetCount() > 0, nil
}

// LatestRun returns the latest run of an event's workflow; the zero value if there is none, or if it doesn't process events.
func (r *Reader) LatestRun(ctx context.Context, workflowID string) (operation.LatestRun, error) {
	return r.Run(ctx, event.Run{WorkflowID: workflowID})
}

// Run is LatestRun for one run of the workflow.
func (r *Reader) Run(ctx context.Context, run event.Run) (operation.LatestRun, error) {
	workflowID := run.WorkflowID
	response, err := r.client.DescribeWorkflowExecution(ctx, workflowID, run.RunID)
	if isNotFound(err) {
		return operation.LatestRun{}, nil
	}
	if err != nil {
		return operation.LatestRun{}, failure("describe workflow "+workflowID, err)
	}
	info := response.GetWorkflowExecutionInfo()
	if info.GetType().GetName() != workflows.TypeProcessEvent {
		return operation.LatestRun{}, nil
	}
	state := stateOf(info.GetStatus())
	latest := operation.LatestRun{
		Run:       event.Run{WorkflowID: workflowID, RunID: info.GetExecution().GetRunId()},
		EventID:   memoEventID(info, r.converter),
		Open:      state == StateProcessing,
		Succeeded: state == StateProcessed,
	}
	if !latest.Open {
		latest.Status, latest.ClosedAt = statuses[info.GetStatus()], info.GetCloseTime().AsTime()
	}
	return latest, nil
}

// DeadLetterOf builds the dead letter of a run from the first and last event of its history. It returns nil if the run was
// deleted or needs none, because it recorded a dead letter, processed the event, or had nothing to process. With restored, only
// the last reason counts, because the database may be older than the run.
func (r *Reader) DeadLetterOf(ctx context.Context, run operation.ClosedRun, restored bool) (*event.DeadLetter, error) {
	first, err := r.historyEvent(ctx, run.Run, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	if first == nil || err != nil {
		return nil, err
	}
	last, err := r.historyEvent(ctx, run.Run, enumspb.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT)
	if last == nil || err != nil {
		return nil, err
	}
	failure, err := r.failureOf(run, last, restored)
	if failure == nil || err != nil {
		return nil, err
	}
	d := event.DeadLetter{
		Run: run.Run, State: event.DeadLetterOpen, Failures: 1, Failure: *failure, FirstFailed: failure.At, LastFailed: failure.At,
	}
	if d.Receipt, d.Body, err = r.inputOf(first); err != nil {
		return nil, event.Rejectf("unreadable_run", "read input of workflow %s: %s", run.Run.WorkflowID, err)
	}
	if run.EventID != "" {
		d.Receipt.ID = run.EventID // the run may have continued as another event
	}
	return &d, nil
}

// failureOf returns the failure in the dead letter of a run; nil if it gets none.
func (r *Reader) failureOf(run operation.ClosedRun, last *historypb.HistoryEvent, restored bool) (*event.Failure, error) {
	f := &event.Failure{
		Step: event.StepRun, Class: event.ClassFailed, Attempts: 1, At: last.GetEventTime().AsTime(),
	}
	f.Code, f.Message = whyClosed(run.Status, last)
	failed := last.GetWorkflowExecutionFailedEventAttributes().GetFailure().GetApplicationFailureInfo()
	switch {
	case failed.GetType() == workflows.ErrorDeadLettered && !restored:
		return nil, nil // an operator has deleted it
	case failed.GetType() == workflows.ErrorDeadLettered:
		var recorded event.Failure // the failure that the run recorded
		if r.converter.FromPayloads(failed.GetDetails(), &recorded) == nil && recorded.Step != "" {
			f = &recorded
		}
	case last.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
		var result workflows.ProcessResult
		if err := r.converter.FromPayloads(last.GetWorkflowExecutionCompletedEventAttributes().GetResult(), &result); err != nil {
			return nil, event.Rejectf("unreadable_run", "read result of workflow %s: it is malformed, or its payload key is missing",
				run.Run.WorkflowID)
		}
		if result.Outcome != event.OutcomeProcessed && result.Outcome != event.OutcomeIgnored {
			return nil, nil
		}
		f.Code, f.Message = operation.CodeLost, "the run processed the event, but the database doesn't have it"
	}
	return f, nil
}

// Input returns the event of a run of ProcessEvent. Its errors are transient: the run itself could read its input.
func (r *Reader) Input(ctx context.Context, run event.Run) (receipt event.Receipt, body []byte, err error) {
	first, err := r.historyEvent(ctx, run, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	if err == nil && first == nil {
		err = errors.New("the run was deleted")
	}
	if err == nil {
		receipt, body, err = r.inputOf(first)
	}
	if err != nil {
		return receipt, nil, unreadable(run, err)
	}
	return receipt, body, nil
}

func unreadable(run event.Run, err error) error {
	return &event.Error{Class: event.ClassTransient, Code: "unreadable_run",
		Err: fmt.Errorf("read input of workflow %s: %w", run.WorkflowID, err)}
}

// inputOf decodes the first event of a history. It doesn't wrap the converter's error, which may quote the input.
func (r *Reader) inputOf(first *historypb.HistoryEvent) (receipt event.Receipt, body []byte, err error) {
	input := first.GetWorkflowExecutionStartedEventAttributes().GetInput()
	if n := len(input.GetPayloads()); n != 2 {
		return receipt, nil, fmt.Errorf("it has %d payloads instead of 2", n)
	}
	var raw converter.RawValue
	if r.converter.FromPayloads(input, &receipt, &raw) != nil {
		return receipt, nil, errors.New("it is malformed, or its payload key is missing")
	}
	return receipt, raw.Payload().GetData(), nil
}

func (r *Reader) historyEvent(
	ctx context.Context, run event.Run, filter enumspb.HistoryEventFilterType,
) (*historypb.HistoryEvent, error) {
	events := r.client.GetWorkflowHistory(ctx, run.WorkflowID, run.RunID, false, filter)
	if !events.HasNext() {
		return nil, nil
	}
	first, err := events.Next()
	if isNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read history of workflow %s: %w", run.WorkflowID, err)
	}
	return first, nil
}

// identityOfTemporal is the identity with which Temporal itself terminates runs.
const identityOfTemporal = "history-service"

func whyClosed(status string, last *historypb.HistoryEvent) (code, message string) {
	switch status {
	case event.CodeTerminated:
		a := last.GetWorkflowExecutionTerminatedEventAttributes()
		if a.GetIdentity() == identityOfTemporal {
			return event.CodeTerminatedByTemporal, "Temporal terminated the run: " + a.GetReason()
		}
		return status, fmt.Sprintf("the run was terminated by %q: %s", a.GetIdentity(), a.GetReason()) + event.AwaitsOperator
	case event.CodeCanceled:
		return status, "the run was canceled before the event was processed" + event.AwaitsOperator
	case "timed_out":
		return status, "the run timed out"
	default:
		return status, "the run failed before it could record its dead letter"
	}
}
