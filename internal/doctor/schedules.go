package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"holdfast/internal/stores"
	"holdfast/internal/word"
	"holdfast/workflows"
	"holdfast/workflows/runs"
)

// stuckAttempts is how often an activity of a schedule's run may fail before it is reported.
const stuckAttempts = 3

func (d *doctor) examineSchedules(ctx context.Context) {
	for _, id := range stores.ScheduleIDs(d.cfg) {
		d.examineSchedule(ctx, id)
	}
}

func (d *doctor) examineSchedule(ctx context.Context, id string) {
	check := "schedule " + id
	described, err := d.temporal.ScheduleClient().GetHandle(ctx, id).Describe(ctx)
	var missing *serviceerror.NotFound
	switch {
	case (id == workflows.ScheduleNotify || id == workflows.ScheduleReport) && errors.As(err, &missing):
		d.add(check, resultWarn, "doesn't exist yet",
			"start the workers with the same HOLDFAST_NOTIFY_URLS as this command: they create it")
		return
	case err != nil:
		d.failed(check, err, "run `holdfast migrate`")
		return
	case described.Schedule.State.Paused:
		d.add(check, resultWarn, "paused: "+described.Schedule.State.Note,
			"temporal schedule toggle --schedule-id "+id+" --unpause --reason …")
		return
	}
	detail := "has run " + word.Count(described.Info.NumActions, "time", "times")
	slow, err := d.slowRun(ctx, described)
	switch {
	case err != nil:
		d.failed(check, fmt.Errorf("%s; its run can't be read: %w", detail, err), "allow this client to describe workflows")
	case slow == nil:
		d.add(check, resultOK, detail, "")
	default:
		d.examineSlow(check, detail, slow)
	}
}

// slowRun returns a run of the schedule that takes longer than it should, or nil.
func (d *doctor) slowRun(
	ctx context.Context, s *client.ScheduleDescription,
) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	var every time.Duration
	for _, interval := range s.Schedule.Spec.Intervals {
		every = max(every, interval.Every)
	}
	for _, running := range s.Info.RunningWorkflows {
		run, err := d.temporal.DescribeWorkflowExecution(ctx, running.WorkflowID, "")
		var notFound *serviceerror.NotFound
		if errors.As(err, &notFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		isOpen := run.GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
		if isOpen && ageOf(run) > runs.SlowAfter*every {
			return run, nil
		}
	}
	return nil, nil
}

func ageOf(run *workflowservice.DescribeWorkflowExecutionResponse) time.Duration {
	return time.Since(run.GetWorkflowExecutionInfo().GetStartTime().AsTime())
}

// examineSlow shows what a schedule's run is doing: an activity that keeps failing never ends automatically.
func (d *doctor) examineSlow(check, detail string, run *workflowservice.DescribeWorkflowExecutionResponse) {
	id := run.GetWorkflowExecutionInfo().GetExecution().GetWorkflowId()
	detail = fmt.Sprintf("%s; the last one has worked for %s", detail, word.Age(ageOf(run)))
	for _, activity := range run.GetPendingActivities() {
		if activity.GetAttempt() >= stuckAttempts && activity.GetLastFailure() != nil {
			d.add(check, resultFail, fmt.Sprintf("%s; %s fails, attempt %d: %s", detail,
				activity.GetActivityType().GetName(), activity.GetAttempt(), activity.GetLastFailure().GetMessage()),
				"remove the cause; until then the schedule starts nothing: temporal workflow describe --workflow-id "+id)
			return
		}
	}
	d.add(check, resultWarn, detail,
		"see that a worker polls the queue operations, and what it does: temporal workflow describe --workflow-id "+id)
}
