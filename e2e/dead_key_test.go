package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/converter"

	"holdfast/event"
	"holdfast/workflows"
	"holdfast/workflows/runs"
)

// Temporal has lost the run of an event that had failed at parse, and the provider redelivers it:
//   - it fails as the first event, whose dead letter counts one more failure; there is no second one
//   - once discarded, it stays so when Temporal has lost that run as well, and nothing of a redelivery is kept
//   - the same after an expunge, which leaves no body behind
func TestADeadEventIsKnownByItsKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "homemade.yaml"), []byte(definitionOf("json")), 0o600))
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir)
	n := i.start(t, "serve")
	workflowID := "homemade:" + uniqueID("msg")
	send := func(status enumspb.WorkflowExecutionStatus) (eventID string) {
		a := n.sendStandard(t, "/webhooks/homemade", strings.TrimPrefix(workflowID, "homemade:"), []byte(poison))
		require.Equal(t, 202, a.status, string(a.body))
		i.awaitStatus(t, workflowID, status)
		return a.Events[0].EventID
	}
	letters := "SELECT count(*) FROM dead_letters"
	first := send(enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
	i.forget(t, workflowID, "Failed")
	require.NotEqual(t, first, send(enumspb.WORKFLOW_EXECUTION_STATUS_FAILED))
	require.Equal(t, 1, i.count(t, letters))
	require.Equal(t, 1, i.count(t, letters+" WHERE state = 'open' AND failures = 2 AND event_id = $1::uuid", first))
	i.replay(t, "dead_owner", workflowID)
	latest, err := runs.NewStarter(i.dial(t), converter.GetDefaultDataConverter()).LatestRun(t.Context(), workflowID)
	require.NoError(t, err)
	require.Equal(t, first, latest.EventID, "the run says whose it is")

	var id string
	i.query(t, "SELECT id::text FROM dead_letters", nil, &id)
	out, err := i.run(t, "dlq", "discard", id, "--reason", "a test of the sender")
	require.NoError(t, err, out)
	i.forget(t, workflowID, "Failed")
	send(enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	require.Equal(t, 1, i.count(t, letters+" WHERE state = 'discarded'"))
	require.Equal(t, 1, i.count(t, letters))

	out, err = i.run(t, "purge", "--expunge", first, "--reason", "asked by the customer")
	require.NoError(t, err, out)
	i.awaitForgotten(t, workflowID)
	send(enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	require.Zero(t, i.count(t, letters))
	require.Zero(t, i.count(t, "SELECT count(*) FROM inbox"))
	require.Zero(t, i.count(t, "SELECT count(*) FROM events"))
}

// With `redelivery: reject`, a redelivery doesn't run an event that failed at parse:
//   - while Temporal has its run, the answer says that it is dead, and its dead letter; nothing is started
//   - once Temporal has lost that run, the redelivery's own run ends as a duplicate: both if it fails at parse as well, and if
//     the definition has been corrected
//   - the dead letter is unchanged
func TestARejectedRedeliveryLeavesADeadEventDead(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "homemade.yaml")
	define := func(decode string) {
		require.NoError(t, os.WriteFile(file, []byte(definitionOf(decode)+"redelivery: reject\n"), 0o600))
	}
	define("json")
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+filepath.Dir(file))
	n := i.start(t, "serve")
	id := uniqueID("msg")
	workflowID := "homemade:" + id
	send := func() answer { return n.sendStandard(t, "/webhooks/homemade", id, []byte(poison)) }
	first := send()
	require.Equal(t, 202, first.status, string(first.body))
	i.awaitStatus(t, workflowID, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
	run := i.describe(t, workflowID).GetExecution().GetRunId()
	requireDead := func() {
		require.Equal(t, 1, i.count(t, "SELECT count(*) FROM dead_letters"))
		require.Equal(t, 1, i.count(t, "SELECT count(*) FROM dead_letters WHERE state = 'open' AND failures = 1 AND step = 'parse'"+
			" AND event_id = $1::uuid AND run_id = $2", first.Events[0].EventID, run))
		require.Zero(t, i.count(t, "SELECT count(*) FROM events"))
		require.Zero(t, i.count(t, "SELECT count(*) FROM inbox"))
	}

	again := send()
	require.Equal(t, 200, again.status, string(again.body))
	require.True(t, again.Duplicate)
	require.Equal(t, []string{first.Events[0].EventID, "dead"}, []string{again.Events[0].EventID, again.state()})
	require.Equal(t, i.count(t, "SELECT id FROM dead_letters"), again.Events[0].DeadLetterID)
	require.Equal(t, run, i.describe(t, workflowID).GetExecution().GetRunId())
	requireDead()

	endsAsDuplicate := func() {
		a := send()
		require.Equal(t, "202 accepted", fmt.Sprint(a.status, " ", a.state()), string(a.body))
		i.awaitStatus(t, workflowID, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
		var result workflows.ProcessResult
		require.NoError(t, i.dial(t).GetWorkflow(t.Context(), workflowID, "").Get(t.Context(), &result))
		require.Equal(t, event.OutcomeDuplicate, result.Outcome)
		requireDead()
	}
	i.forget(t, workflowID, "Failed")
	endsAsDuplicate()

	n.terminate(t)
	define("text")
	n = i.start(t, "serve")
	i.forget(t, workflowID, "Completed")
	endsAsDuplicate()
}
