package runs

import (
	"cmp"
	"context"
	"errors"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/temporal"

	"holdfast/event"
)

// Progress returns where the open run of an event is, or event.ErrNotFound if it has ended.
func (r *Reader) Progress(ctx context.Context, run event.Run) (event.Progress, error) {
	described, err := r.client.DescribeWorkflowExecution(ctx, run.WorkflowID, run.RunID)
	switch {
	case isNotFound(err):
		return event.Progress{}, event.ErrNotFound
	case err != nil:
		return event.Progress{}, unavailable("describe workflow "+run.WorkflowID, err)
	case described.GetWorkflowExecutionInfo().GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
		return event.Progress{}, event.ErrNotFound
	}
	history, err := r.history(ctx, runOf(described.GetWorkflowExecutionInfo()))
	if err != nil {
		return event.Progress{}, unavailable("read history of workflow "+run.WorkflowID, err)
	}
	return r.progressOf(described, history), nil
}

// history returns all events of a run's history, at least one.
func (r *Reader) history(ctx context.Context, run event.Run) (all []*historypb.HistoryEvent, err error) {
	events := r.client.GetWorkflowHistory(ctx, run.WorkflowID, run.RunID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	if len(all) == 0 {
		err = errors.New("it is empty")
	}
	return all, err
}

// progressOf combines a history, which has the steps' counted failures and the timers between attempts, with the description,
// which has the retries of the server.
func (r *Reader) progressOf(
	described *workflowservice.DescribeWorkflowExecutionResponse, history []*historypb.HistoryEvent,
) event.Progress {
	h := historian{reader: r, scheduled: map[int64]activityStep{}}
	for _, e := range history {
		h.read(e)
	}
	p, task := h.Progress, described.GetPendingWorkflowTask()
	p.TaskStarted = task.GetState() == enumspb.PENDING_WORKFLOW_TASK_STATE_STARTED
	p.TaskAttempts = int(task.GetAttempt())
	for _, activity := range described.GetPendingActivities() {
		r.addPending(&p, activity)
	}
	return p
}

func (r *Reader) addPending(p *event.Progress, activity *workflowpb.PendingActivityInfo) {
	p.StepPaused = activity.GetPaused()
	p.StepStarted = activity.GetState() == enumspb.PENDING_ACTIVITY_STATE_STARTED
	if failure := activity.GetLastFailure(); failure != nil {
		p.Code, p.Failure = r.explain(failure)
	}
	if next := activity.GetNextAttemptScheduleTime(); next != nil && !p.StepStarted {
		p.RetryAt = next.AsTime()
	}
}

// historian reads a history from its beginning. Its Progress is that after the events it has read.
type historian struct {
	event.Progress

	reader    *Reader
	scheduled map[int64]activityStep // by the ID of the event that scheduled it
	failing   string                 // the activity type of the last failure
}

// activityStep is a step as an activity.
type activityStep struct{ activityType, summary string }

func (h *historian) read(e *historypb.HistoryEvent) {
	switch a := e.GetAttributes().(type) {
	case *historypb.HistoryEvent_WorkflowTaskCompletedEventAttributes:
		h.TaskFailure = ""
	case *historypb.HistoryEvent_WorkflowTaskFailedEventAttributes:
		_, h.TaskFailure = h.reader.explain(a.WorkflowTaskFailedEventAttributes.GetFailure())
	case *historypb.HistoryEvent_MarkerRecordedEventAttributes:
		h.readMarker(e, a.MarkerRecordedEventAttributes)
	case *historypb.HistoryEvent_ActivityTaskScheduledEventAttributes:
		h.start(e.GetEventId(), h.stepOf(e, a.ActivityTaskScheduledEventAttributes.GetActivityType().GetName()))
	case *historypb.HistoryEvent_ActivityTaskCompletedEventAttributes:
		h.succeeded()
	case *historypb.HistoryEvent_ActivityTaskFailedEventAttributes:
		failed := a.ActivityTaskFailedEventAttributes
		h.failed(h.scheduled[failed.GetScheduledEventId()], failed.GetFailure())
	case *historypb.HistoryEvent_ActivityTaskTimedOutEventAttributes:
		failed := a.ActivityTaskTimedOutEventAttributes
		h.failed(h.scheduled[failed.GetScheduledEventId()], failed.GetFailure())
	case *historypb.HistoryEvent_TimerStartedEventAttributes:
		h.RetryAt = e.GetEventTime().AsTime().Add(a.TimerStartedEventAttributes.GetStartToFireTimeout().AsDuration())
	case *historypb.HistoryEvent_TimerFiredEventAttributes:
		h.RetryAt = time.Time{}
	}
}

// readMarker reads the result of a local activity.
func (h *historian) readMarker(e *historypb.HistoryEvent, marker *historypb.MarkerRecordedEventAttributes) {
	if marker.GetMarkerName() != "LocalActivity" {
		return
	}
	if marker.GetFailure() == nil {
		h.succeeded()
		return
	}
	var data struct{ ActivityType string }
	_ = h.reader.converter.FromPayloads(marker.GetDetails()["data"], &data) // without it, the step has only its summary
	h.failed(h.stepOf(e, data.ActivityType), marker.GetFailure())
}

// start begins a step, or repeats it, which keeps its error.
func (h *historian) start(id int64, step activityStep) {
	if step.activityType != h.failing {
		h.succeeded()
	}
	h.scheduled[id], h.Step, h.RetryAt = step, step.summary, time.Time{}
}

func (h *historian) succeeded() { h.Step, h.failing, h.Code, h.Failure = "", "", "", "" }

func (h *historian) failed(step activityStep, failure *failurepb.Failure) {
	h.Step, h.failing = step.summary, step.activityType
	h.Code, h.Failure = h.reader.explain(failure)
}

// stepOf names an activity as Temporal Web does: "persist · attempt 2 of 3"; by its type if it has no summary.
func (h *historian) stepOf(e *historypb.HistoryEvent, activityType string) activityStep {
	step := activityStep{activityType: activityType}
	if payload := e.GetUserMetadata().GetSummary(); payload != nil {
		_ = h.reader.converter.FromPayload(payload, &step.summary) // it may be encrypted with a key that is missing here
	}
	step.summary = cmp.Or(step.summary, activityType)
	return step
}

func (r *Reader) explain(failure *failurepb.Failure) (code, message string) {
	if failure == nil {
		return "", ""
	}
	options := temporal.DefaultFailureConverterOptions{DataConverter: r.converter}
	err := temporal.NewDefaultFailureConverter(options).FailureToError(failure)
	application, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok {
		return "", err.Error()
	}
	if application.HasDetails() {
		_ = application.Details(&code) // not every failure has a code
	}
	return code, application.Message()
}
