package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	sdk "go.temporal.io/sdk/client"

	"holdfast/workflows"
)

// quickly makes the schedules run every few seconds.
var quickly = []string{
	"HOLDFAST_REPLAY_BASE=500ms", "HOLDFAST_REPLAY_INTERVAL=1s", "HOLDFAST_REPLAY_SWEEP_INTERVAL=1s",
	"HOLDFAST_REPLAY_REJECTED=true",
}

// A dead letter whose cause stays:
//   - it is replayed automatically three times, and is one row with four failures; then it is exhausted
//   - once the cause is fixed, a manual replay resolves it
func TestADeadLetterIsReplayedByItself(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "homemade.yaml")
	require.NoError(t, os.WriteFile(file, []byte(definitionOf("json")), 0o644))
	quiet := "name: quiet\nextends: homemade\nreplay: off\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "quiet.yaml"), []byte(quiet), 0o644))
	i := newInstallation(t, append(quickly, "HOLDFAST_PROVIDERS_DIR="+dir)...)
	n := i.start(t, "serve")
	id := uniqueID("msg")
	for _, path := range []string{"/webhooks/homemade", "/webhooks/quiet"} {
		accepted(t, func() answer { return n.sendStandard(t, path, id, []byte(poison)) })
	}

	i.awaitCount(t, 2*time.Minute, 1, "SELECT count(*) FROM dead_letters WHERE state = 'exhausted'")
	var failures, rows int
	i.query(t, "SELECT failures FROM dead_letters WHERE provider = 'homemade'", nil, &failures)
	i.query(t, "SELECT count(*) FROM dead_letters WHERE provider = 'homemade'", nil, &rows)
	require.Equal(t, []int{4, 1}, []int{failures, rows})
	i.query(t, "SELECT failures FROM dead_letters WHERE provider = 'quiet'", nil, &failures)
	require.Equal(t, 1, failures, "its definition leaves it to the operators")

	n.terminate(t)
	require.NoError(t, os.WriteFile(file, []byte(definitionOf("text")), 0o644))
	i.start(t, "worker")
	out, err := i.run(t, "dlq", "replay", fmt.Sprint(i.count(t, "SELECT id FROM dead_letters WHERE provider = 'homemade'")), "--wait")
	require.NoError(t, err, out)
	i.awaitStatus(t, "homemade:"+id, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM dead_letters WHERE state = 'resolved'"))
	i.replay(t, "replay_due", i.latestOf(t, workflows.TypeReplayDue, "Completed"))
	i.replay(t, "sweep", i.latestOf(t, workflows.TypeSweepRuns, "Completed"))
}

// latestOf returns the ID of a workflow with a type and status, once one is visible.
func (i *installation) latestOf(t *testing.T, workflowType, status string) (id string) {
	t.Helper()
	c := i.dial(t)
	eventually(t, 30*time.Second, "there is a "+workflowType+" that is "+status, func() error {
		found, err := c.ListWorkflow(context.Background(), listRequest(
			fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus = '%s'", workflowType, status)))
		if err != nil {
			return err
		}
		if len(found.GetExecutions()) == 0 {
			return errors.New("not yet")
		}
		id = found.GetExecutions()[0].GetExecution().GetWorkflowId()
		return nil
	})
	return id
}

// The schedule fires while its previous run is still processing due dead letters, slowly:
//   - it skips, and there is never a second run
//   - each dead letter is replayed once
func TestTheScheduleSkipsWhileItWorks(t *testing.T) {
	t.Parallel()
	i := newInstallation(t, append(quickly, "HOLDFAST_REPLAY_RATE=0.5")...)
	i.bury(t, 4)
	i.start(t, "worker")
	running := fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus = 'Running'", workflows.TypeReplayDue)
	most := 0
	eventually(t, 2*time.Minute, "all are processed", func() error {
		most = max(most, i.runsOf(t, running))
		return atLeast(i.count(t, processedEvents), 4)
	})
	require.LessOrEqual(t, most, 1)
	require.Positive(t, i.schedule(t, workflows.ScheduleReplay).Info.NumActionsSkippedOverlap)
	require.Equal(t, 4, i.count(t, "SELECT count(*) FROM dead_letters WHERE state = 'resolved' AND auto_attempts = 1"))
	eventually(t, 30*time.Second, "the runs are on record", func() error {
		return atLeast(i.runsOf(t, "WorkflowType = 'ProcessEvent' AND ExecutionStatus = 'Completed'"), 4)
	})
	require.Equal(t, 4, i.runsOf(t, "WorkflowType = 'ProcessEvent'"))
}

// Migrate creates the schedules, and updates them the next time:
//   - one that an operator has paused stays paused
func TestMigrateKeepsTheSchedules(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	interval := func() time.Duration {
		schedule := i.schedule(t, workflows.ScheduleReplay).Schedule
		require.Equal(t, enumspb.SCHEDULE_OVERLAP_POLICY_SKIP, schedule.Policy.Overlap)
		require.Equal(t, time.Minute, schedule.Policy.CatchupWindow)
		return schedule.Spec.Intervals[0].Every
	}
	require.Equal(t, time.Minute, interval())
	i.runTool(t, "temporal", "schedule", "toggle", "--schedule-id", workflows.ScheduleReplay, "--pause", "--reason", "traffic")
	i.env = append(i.env, "HOLDFAST_REPLAY_INTERVAL=10m")
	out, err := i.run(t, "migrate")
	require.NoError(t, err, out)
	require.Equal(t, 10*time.Minute, interval())
	require.True(t, i.schedule(t, workflows.ScheduleReplay).Schedule.State.Paused)
}

// schedule returns a schedule once Temporal has it.
func (i *installation) schedule(t *testing.T, id string) (described *sdk.ScheduleDescription) {
	t.Helper()
	handle := i.dial(t).ScheduleClient().GetHandle(context.Background(), id)
	eventually(t, time.Minute, "Temporal describes a schedule", func() (err error) {
		described, err = handle.Describe(context.Background())
		return err
	})
	return described
}
