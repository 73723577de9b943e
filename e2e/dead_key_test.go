package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/converter"

	"holdfast/runs"
)

// Temporal has lost the run of an event that had failed at parse, and the provider sends it again:
//   - it fails as the first event, whose dead letter counts one more failure; there is no second one
//   - discarded, it stays so when Temporal has lost that run as well, and nothing of a redelivery is kept
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
