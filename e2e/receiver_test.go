package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	sdk "go.temporal.io/sdk/client"

	"holdfast/event"
	"holdfast/workflows"
)

// A destination is failing:
//   - its workflow is terminated: while the failure lasts, the next check of destinations starts it again
//   - it continues as new when its history grows long
//   - it disables the destination, and ends, when the failure has lasted for too long
func TestTheWorkflowOfAReceiverReturns(t *testing.T) {
	t.Parallel()
	i := newInstallationWithEndpoint(t)
	i.troubleSince(t, "3 minutes")
	i.start(t, "serve")
	workflowID := workflows.DestinationWorkflowID("crm")
	i.awaitOtherRun(t, workflowID, "")
	i.awaitEvent(t, workflowID, enumspb.EVENT_TYPE_TIMER_STARTED)
	terminated := i.describe(t, workflowID).GetExecution().GetRunId()
	i.runTool(t, "temporal", "workflow", "terminate", "--workflow-id", workflowID, "--reason", "by mistake")
	i.start(t, "worker") // checks at once; a running one does every half a minute
	i.awaitOtherRun(t, workflowID, terminated)

	long := i.describe(t, workflowID).GetExecution().GetRunId()
	for run := long; run == long; run = i.describe(t, workflowID).GetExecution().GetRunId() {
		i.probe(t, workflowID)
	}
	i.replayRun(t, "destination_continued", event.Run{WorkflowID: workflowID, RunID: long})

	i.troubleSince(t, "6 days")
	_ = i.tryProbe(t, workflowID) // the workflow may check earlier, and end
	i.awaitStatus(t, workflowID, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM destination_states WHERE state = 'disabled' AND by = 'holdfast'"))
	i.replay(t, "destination_disabled", workflowID)
}

// A paused destination is failing, and the attempts in flight then succeed:
//   - a probe is answered: there is nothing to retry
//   - operators weren't notified of the failure, so they aren't notified of its end, and the history replays
func TestAFailureThatEndsInAPauseIsNotReported(t *testing.T) {
	t.Parallel()
	i := newInstallationWithEndpoint(t)
	out, err := i.run(t, "destination", "pause", "crm", "--reason", "they deploy")
	require.NoError(t, err, out)
	i.troubleSince(t, "3 minutes")
	i.start(t, "serve")
	workflowID := workflows.DestinationWorkflowID("crm")
	i.awaitOtherRun(t, workflowID, "")
	i.awaitEvent(t, workflowID, enumspb.EVENT_TYPE_TIMER_STARTED)
	i.exec(t, "UPDATE destination_states SET failing_since = NULL")
	require.ErrorContains(t, i.tryProbe(t, workflowID), "not found")
	i.awaitStatus(t, workflowID, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	require.Zero(t, i.count(t, "SELECT count(*) FROM error_log WHERE error_code LIKE 'destination_%'"))
	i.replay(t, "destination_recovered_unnotified", workflowID)
}

// Operators were notified of the failure, and one of them resumes the destination:
//   - the workflow ends without another notification, and its history replays
func TestAnOperatorEndsTheFailureOfADestination(t *testing.T) {
	t.Parallel()
	i := newInstallationWithEndpoint(t)
	i.troubleSince(t, "3 minutes")
	i.start(t, "serve")
	workflowID := workflows.DestinationWorkflowID("crm")
	i.awaitOtherRun(t, workflowID, "")
	const notified = "SELECT count(*) FROM error_log WHERE error_code LIKE 'destination_%'"
	i.awaitCount(t, time.Minute, 1, notified)
	require.NoError(t, i.tryUpdate(t, workflowID, workflows.UpdateResume))
	i.awaitStatus(t, workflowID, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	require.Equal(t, 1, i.count(t, notified))
	i.replay(t, "destination_resumed", workflowID)
}

// newInstallationWithEndpoint has a destination, crm, and no process yet: one checks its destinations as soon as it starts.
func newInstallationWithEndpoint(t *testing.T) *installation {
	t.Helper()
	file := filepath.Join(t.TempDir(), "subscriptions.yaml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, "destinations: {crm: {http: {url: %q, secrets: CRM_SECRET}}}\n",
		newEndpoint(t).URL), 0o600))
	i := newInstallation(t, "CRM_SECRET=whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "HOLDFAST_DELIVERIES_ALLOWED_NETWORKS=127.0.0.0/8")
	out, err := i.run(t, "subscription", "apply", "-f", file)
	require.NoError(t, err, out)
	return i
}

// troubleSince sets the beginning of each destination's failure.
func (i *installation) troubleSince(t *testing.T, ago string) {
	t.Helper()
	i.exec(t, `INSERT INTO destination_states AS s (destination_id, failing_since, failure)
SELECT id, now() - interval '`+ago+`', '503' FROM destinations WHERE deleted_at IS NULL
ON CONFLICT (destination_id) DO UPDATE SET failing_since = excluded.failing_since, failure = excluded.failure`)
}

// awaitOtherRun waits until another run of the workflow is open.
func (i *installation) awaitOtherRun(t *testing.T, workflowID, runID string) {
	t.Helper()
	c := i.dial(t)
	eventually(t, 2*time.Minute, workflowID+" runs", func() error {
		described, err := c.DescribeWorkflowExecution(t.Context(), workflowID, "")
		if err != nil {
			return err
		}
		info := described.GetWorkflowExecutionInfo()
		if info.GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING || info.GetExecution().GetRunId() == runID {
			return fmt.Errorf("%s: run %s is %s", workflowID, info.GetExecution().GetRunId(), info.GetStatus())
		}
		return nil
	})
}

// probe asks the workflow of a destination to retry it, and waits until it has.
func (i *installation) probe(t *testing.T, workflowID string) {
	t.Helper()
	require.NoError(t, i.tryProbe(t, workflowID))
}

func (i *installation) tryProbe(t *testing.T, workflowID string) error {
	t.Helper()
	return i.tryUpdate(t, workflowID, workflows.UpdateProbe)
}

// tryUpdate sends an update to the workflow of a destination.
func (i *installation) tryUpdate(t *testing.T, workflowID, name string) error {
	t.Helper()
	update, err := i.dial(t).UpdateWorkflow(t.Context(), sdk.UpdateWorkflowOptions{
		WorkflowID: workflowID, UpdateName: name, Args: []any{workflows.WatchUpdate{By: "ada"}},
		WaitForStage: sdk.WorkflowUpdateStageCompleted,
	})
	require.NoError(t, err)
	return update.Get(t.Context(), nil)
}
