package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/converter"

	"holdfast/workflows/runs"
)

// A large event, whose body is in Temporal or only in PostgreSQL, can't be parsed, and at each redelivery Temporal has lost its run:
//   - it fails once more as the first event, with its bytes
//   - once the definition is corrected, it is processed as the first event, with its bytes and its entities
//   - once expunged, nothing of a redelivery is kept
func TestALargeDeadEventIsTakenOver(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"large": 1_100_000, "stored": 2_100_000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			takeOverLarge(t, name, size)
		})
	}
}

// takeOverLarge names the histories that it records.
func takeOverLarge(t *testing.T, name string, size int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "bulky.yaml")
	require.NoError(t, os.WriteFile(file, []byte(largest), 0o600))
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+filepath.Dir(file), "BULKY_TOKEN="+secret)
	n := i.start(t, "serve")
	const workflowID = "bulky:large"
	body := withoutType("large", size)
	send := func(status enumspb.WorkflowExecutionStatus) (eventID string) {
		a := n.deliver(t, 202, "/webhooks/bulky", body, "X-Bulky-Token", secret)
		i.awaitStatus(t, workflowID, status)
		return a.Events[0].EventID
	}
	isStored := func(table string) {
		var stored []byte
		i.query(t, "SELECT raw_body FROM "+table, nil, &stored)
		require.True(t, bytes.Equal([]byte(body), stored), "%s has other bytes", table)
	}
	first := send(enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
	i.forget(t, workflowID, "Failed")
	require.NotEqual(t, first, send(enumspb.WORKFLOW_EXECUTION_STATUS_FAILED))
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM dead_letters WHERE failures = 2 AND event_id = $1::uuid", first))
	isStored("dead_letters")
	latest, err := runs.NewStarter(i.dial(t), converter.GetDefaultDataConverter()).LatestRun(t.Context(), workflowID)
	require.NoError(t, err)
	require.Equal(t, first, latest.EventID, "the run says whose it is")
	i.replay(t, name+"_dead_owner", workflowID)

	n.kill()
	corrected := strings.Replace(largest, ".body.type", ".body.tipe", 1)
	require.NoError(t, os.WriteFile(file, []byte(corrected), 0o600))
	i.forget(t, workflowID, "Failed")
	n = i.start(t, "serve")
	send(enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	require.Equal(t, 1, i.count(t, processedEvents+" AND id = $1", first))
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM events"))
	require.Equal(t, 3, i.count(t, "SELECT count(*) FROM entities"))
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM dead_letters WHERE state = 'resolved'"))
	isStored("events")
	i.replay(t, name+"_takeover", workflowID)

	out, err := i.run(t, "purge", "--expunge", first, "--reason", "asked by the customer")
	require.NoError(t, err, out)
	i.awaitForgotten(t, workflowID)
	send(enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	for _, table := range []string{"events", "dead_letters", "entities", "inbox"} {
		require.Zero(t, i.count(t, "SELECT count(*) FROM "+table), table)
	}
}
