package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	sdk "go.temporal.io/sdk/client"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/workflows"
)

// More runs were terminated than one history of the sweep should have, one per page:
//   - the sweep continues as new, and each run has its dead letter
//   - both its histories replay
func TestHistoryOfALongSweepReplays(t *testing.T) {
	t.Parallel()
	const terminated = 50
	i := newInstallation(t)
	i.runTool(t, "temporal", "schedule", "toggle", "--schedule-id", workflows.ScheduleSweep, "--pause")
	n, c := i.start(t, "ingress"), i.dial(t)
	for range terminated {
		sent := n.send(t, someEvent())
		require.NoError(t, c.TerminateWorkflow(t.Context(), sent.Events[0].WorkflowID, "", "by mistake"))
	}
	eventually(t, time.Minute, "all are on record", func() error {
		return atLeast(i.runsOf(t, "WorkflowType = 'ProcessEvent' AND ExecutionStatus = 'Terminated'"), terminated)
	})
	i.start(t, "worker")
	until := time.Now().UTC()
	sweep, err := c.ExecuteWorkflow(t.Context(), sdk.StartWorkflowOptions{ID: "sweep", TaskQueue: workflows.QueueOperations},
		workflows.TypeSweepRuns, &workflows.SweepState{
			Page:   operation.SweepPage{Since: until.Add(-time.Hour), Until: until, Limit: 1},
			Result: workflows.SweepResult{Until: until},
		})
	require.NoError(t, err)
	first := event.Run{WorkflowID: sweep.GetID(), RunID: sweep.GetRunID()}
	var result workflows.SweepResult
	require.NoError(t, sweep.Get(t.Context(), &result))
	require.Equal(t, terminated, result.DeadLetters)
	require.Equal(t, terminated, i.count(t, openDeadLetters))
	require.NotEqual(t, first.RunID, i.describe(t, "sweep").GetExecution().GetRunId())
	i.replayRun(t, "sweep_continued", first)
	i.replay(t, "sweep_second_page", "sweep")
}

// Both stores have the mark of the last sweep, which found nothing amiss:
//   - the next one heals nothing, and its history replays
func TestHistoryOfAnOrdinarySweepReplays(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.runTool(t, "temporal", "schedule", "toggle", "--schedule-id", workflows.ScheduleSweep, "--pause")
	i.start(t, "worker")
	var identity string
	i.query(t, "SELECT feed_identity()", nil, &identity)
	until := time.Now().UTC()
	sweep := &sdk.ScheduleWorkflowAction{
		ID: "ordinary", TaskQueue: workflows.QueueOperations, Workflow: workflows.TypeSweepRuns,
		Args: []any{&workflows.SweepState{ // of a sweep that has compared its marks
			Page: operation.SweepPage{Since: until.Add(-time.Hour), Until: until}, Result: workflows.SweepResult{Until: until},
			Seen: operation.Mark{Identity: identity},
		}},
	}
	schedule, err := i.dial(t).ScheduleClient().Create(t.Context(), sdk.ScheduleOptions{ID: "ordinary", Action: sweep})
	require.NoError(t, err)
	t.Cleanup(func() { _ = schedule.Delete(context.Background()) })
	for n := 1; n <= 2; n++ {
		require.NoError(t, schedule.Trigger(t.Context(), sdk.ScheduleTriggerOptions{}))
		const ended = "TemporalScheduledById = 'ordinary' AND ExecutionStatus = 'Completed'"
		eventually(t, time.Minute, "a sweep ends", func() error { return atLeast(i.runsOf(t, ended), n) })
		require.NoError(t, schedule.Update(t.Context(), sdk.ScheduleUpdateOptions{
			DoUpdate: func(in sdk.ScheduleUpdateInput) (*sdk.ScheduleUpdate, error) {
				sweep.Args, in.Description.Schedule.Action = nil, sweep
				return &sdk.ScheduleUpdate{Schedule: &in.Description.Schedule}, nil
			},
		}))
	}
	i.replay(t, "sweep_ordinary", i.latestOf(t, workflows.TypeSweepRuns, "Completed"))
}

// A replay is canceled in Temporal when its next step would be to continue as new:
//   - it is canceled, and its history replays
func TestHistoryOfALongReplayThatIsCanceledReplays(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.bury(t, 1)
	id := i.startReplay(t, "--all")
	workflowID, c := workflows.OperationID(operation.KindReplay, id), i.dial(t)
	for range 256 { // the length at which the tests' server suggests it
		require.NoError(t, c.SignalWorkflow(t.Context(), workflowID, "", workflows.OperationSignal(operation.KindReplay), nil))
	}
	require.NoError(t, c.CancelWorkflow(t.Context(), workflowID, ""))
	i.start(t, "worker")
	i.awaitStatus(t, workflowID, enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED)
	i.awaitReplay(t, time.Minute, id, operation.Canceled)
	i.replay(t, "replay_canceled_last", workflowID)
}

// The schedule has reached its limit of replaying dead letters:
//   - its run waits for capacity, starts what is due, and replays
func TestHistoryOfAFullScheduleReplays(t *testing.T) {
	t.Parallel()
	i := newInstallation(t, append(quickly, "HOLDFAST_REPLAY_RATE=1")...)
	i.runTool(t, "temporal", "schedule", "toggle", "--schedule-id", workflows.ScheduleSweep, "--pause")
	i.bury(t, 21)
	i.exec(t, "UPDATE dead_letters SET state = 'replaying', replaying_since = now() WHERE id > (SELECT min(id) FROM dead_letters)")
	i.start(t, "worker")
	run := i.latestOf(t, workflows.TypeReplayDue, "Running")
	i.awaitEvent(t, run, enumspb.EVENT_TYPE_TIMER_STARTED)
	i.exec(t, "DELETE FROM dead_letters WHERE state = 'replaying'")
	i.awaitStatus(t, run, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	i.awaitCount(t, time.Minute, 1, processedEvents)
	i.replay(t, "replay_due_full", run)
}

// No channel accepts the report:
//   - the run waits before it resends it; it is canceled in that pause, and replays
func TestHistoryOfAnUnsentReportReplays(t *testing.T) {
	t.Parallel()
	i := newInstallation(t, "HOLDFAST_NOTIFY_URLS=generic://127.0.0.1:1/hush?disabletls=yes", "HOLDFAST_NOTIFY_REPORT=daily",
		"HOLDFAST_NOTIFY_INTERVAL=1h")
	i.start(t, "serve")
	schedule := i.dial(t).ScheduleClient().GetHandle(context.Background(), workflows.ScheduleReport)
	eventually(t, time.Minute, "the schedule", func() error { // the process makes it after its start
		return schedule.Trigger(context.Background(), sdk.ScheduleTriggerOptions{})
	})
	run := i.latestOf(t, workflows.TypeReportHealth, "Running")
	i.awaitEvent(t, run, enumspb.EVENT_TYPE_TIMER_STARTED)
	i.cancel(t, run)
	i.awaitStatus(t, run, enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED)
	i.replay(t, "report_unnotified", run)
}
