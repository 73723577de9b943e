package chaos

import (
	"fmt"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
)

// describeOpenRuns describes what the first open runs are waiting for.
func (w *world) describeOpenRuns(c sdk.Client) string {
	list, err := c.ListWorkflow(w.t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: w.namespace, PageSize: shown, Query: "ExecutionStatus = 'Running' AND WorkflowType = 'ProcessEvent'",
	})
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, run := range list.GetExecutions() {
		id := run.GetExecution().GetWorkflowId()
		fmt.Fprintf(&b, "%s, started %s:\n", id, run.GetStartTime().AsTime().Format("15:04:05.000"))
		described, err := c.DescribeWorkflowExecution(w.t.Context(), id, "")
		if err != nil {
			fmt.Fprintf(&b, "  %v\n", err)
			continue
		}
		for _, a := range described.GetPendingActivities() {
			describeActivity(&b, a)
		}
		if task := described.GetPendingWorkflowTask(); task != nil {
			fmt.Fprintf(&b, "  workflow task %s, attempt %d\n", task.GetState(), task.GetAttempt())
		}
		history := c.GetWorkflowHistory(w.t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for history.HasNext() {
			e, err := history.Next()
			if err != nil {
				break
			}
			fmt.Fprintf(&b, "  %s %s", e.GetEventTime().AsTime().Format("15:04:05.000"), e.GetEventType())
			if t := e.GetTimerStartedEventAttributes(); t != nil {
				fmt.Fprintf(&b, " %s", t.GetStartToFireTimeout().AsDuration())
			}
			if m := e.GetMarkerRecordedEventAttributes(); m != nil {
				fmt.Fprintf(&b, " %s", m.GetFailure().GetMessage())
			}
			if f := e.GetActivityTaskFailedEventAttributes(); f != nil {
				fmt.Fprintf(&b, " %s", f.GetFailure())
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

func describeActivity(b *strings.Builder, a *workflow.PendingActivityInfo) {
	fmt.Fprintf(b, "  activity %s %s, attempt %d, started %s, due %s, last failure %q\n", a.GetActivityType().GetName(),
		a.GetState(), a.GetAttempt(), a.GetLastStartedTime().AsTime().Format("15:04:05.000"),
		a.GetScheduledTime().AsTime().Format("15:04:05.000"), a.GetLastFailure().GetMessage())
}
