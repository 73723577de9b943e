package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	sdk "go.temporal.io/sdk/client"

	"holdfast/event"
)

// Another workflow has the workflow ID of an event. It is running, or it has ended, and its memo looks like that of an event:
//   - the event is acknowledged, and becomes one dead letter that names the type of the workflow
//   - a redelivery is acknowledged, and creates no second dead letter
//   - a replay is refused while the other workflow is running, and processes the event once it has ended
//   - when the event is expunged, the run of the other workflow is kept
func TestAWorkflowIDThatAnotherWorkflowHasLosesNoEvent(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	n := i.start(t, "serve")
	for name, ended := range map[string]bool{"open": false, "ended": true} {
		t.Run(name, func(t *testing.T) {
			id := uniqueID("msg")
			workflowID := event.WorkflowID("standard-webhooks", id)
			other := i.startOther(t, workflowID, ended)
			first := n.sendStandard(t, "/webhooks/standard-webhooks", id, []byte(note))
			require.Equal(t, "spooled", first.state(), string(first.body))
			letter := i.awaitTaken(t, workflowID, first.Events[0].EventID)

			second := n.sendStandard(t, "/webhooks/standard-webhooks", id, []byte(note))
			require.Equal(t, "spooled", second.state(), string(second.body))
			i.awaitCount(t, time.Minute, 0, inboxRows)
			require.Equal(t, 1, i.count(t, "SELECT count(*) FROM dead_letters WHERE workflow_id = $1", workflowID))

			if !ended {
				out, err := i.run(t, "dlq", "replay", fmt.Sprint(letter))
				require.Error(t, err, out)
				require.Contains(t, out, other.GetRunID()+" of the same workflow ID is in the way")
				i.runTool(t, "temporal", "workflow", "terminate", "--workflow-id", workflowID, "--reason", "it has our ID")
			}
			out, err := i.run(t, "dlq", "replay", fmt.Sprint(letter), "--wait")
			require.NoError(t, err, out)
			require.Equal(t, 1, i.count(t, processedEvents+" AND id = $1", first.Events[0].EventID))
			require.Zero(t, i.count(t, openDeadLetters))
			out, err = i.run(t, "purge", "--expunge", first.Events[0].EventID, "--reason", "asked by the customer")
			require.NoError(t, err, out)
			eventually(t, time.Minute, "the run of the event is deleted", func() error {
				return none(i.runsOf(t, fmt.Sprintf("WorkflowId = %q AND WorkflowType = 'ProcessEvent'", workflowID)))
			})
			_, err = i.dial(t).DescribeWorkflowExecution(context.Background(), workflowID, other.GetRunID())
			require.NoError(t, err, "the run of another application is not ours to delete")
		})
	}
}

func none(n int) error {
	if n > 0 {
		return fmt.Errorf("there are %d", n)
	}
	return nil
}

// startOther starts a workflow of another application, without a worker, and optionally ends it.
func (i *installation) startOther(t *testing.T, workflowID string, ended bool) sdk.WorkflowRun {
	t.Helper()
	run, err := i.dial(t).ExecuteWorkflow(context.Background(), sdk.StartWorkflowOptions{
		ID: workflowID, TaskQueue: "orders", Memo: map[string]any{"event_id": "01a20420-8214-7954-a306-37620c4044b5"},
	}, "Settle")
	require.NoError(t, err)
	if ended {
		require.NoError(t, i.dial(t).TerminateWorkflow(context.Background(), workflowID, run.GetRunID(), "done"))
		i.awaitStatus(t, workflowID, enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED)
	}
	return run
}

// awaitTaken waits for the dead letter of an event whose workflow ID another workflow has, and returns its number.
func (i *installation) awaitTaken(t *testing.T, workflowID, eventID string) (letter int) {
	t.Helper()
	i.awaitCount(t, time.Minute, 1, openDeadLetters+" AND event_id = $1", eventID)
	var code, class, message string
	i.query(t, "SELECT id, error_code, error_class, error_message FROM dead_letters WHERE event_id = $1", []any{eventID},
		&letter, &code, &class, &message)
	require.Equal(t, "workflow_id_taken", code)
	require.Equal(t, "rejected", class)
	require.Contains(t, message, workflowID)
	require.Contains(t, message, "Settle")
	return letter
}
