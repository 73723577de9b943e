package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
)

// Operators treat large events like any other:
//   - two deliveries of GitHub with equal bytes are two events, each with its bytes
//   - an expunge of one that waits in the inbox, or is processed, leaves its bytes nowhere
//   - a reset of one that is processed changes nothing
//   - one that can't be parsed is edited: the new body has 20 MiB, and is processed
func TestLargeEventsAreOperated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bulky.yaml"), []byte(largest), 0o600))
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir, "BULKY_TOKEN="+secret)
	ingress := i.start(t, "ingress", "GITHUB_WEBHOOK_SECRET="+secret)
	push := pushOf(2 << 20)
	var pushes []string
	for range 2 {
		a, err := ingress.post("/webhooks/github", []byte(push), "X-Hub-Signature-256", "sha256="+hexMAC(secret, push),
			"X-Github-Event", "push", "X-Github-Delivery", uniqueID("push"))
		require.NoError(t, err)
		require.Equal(t, 202, a.status, string(a.body))
		pushes = append(pushes, a.Events[0].WorkflowID)
	}
	ingress.deliver(t, 202, "/webhooks/bulky", bulkyEvent("unwanted", 2<<20, 1), "X-Bulky-Token", secret)
	ingress.deliver(t, 202, "/webhooks/bulky", withoutType("poison", 2<<20), "X-Bulky-Token", secret)
	require.Equal(t, 4, i.count(t, "SELECT count(*) FROM inbox WHERE lane = 'large'"))
	out, err := i.run(t, "purge", "--expunge", "bulky:unwanted", "--reason", "asked by the customer")
	require.NoError(t, err, out)
	require.Equal(t, 3, i.count(t, "SELECT count(*) FROM inbox WHERE lane = 'large'"), "its bytes are gone")

	i.start(t, "worker")
	for _, workflowID := range pushes {
		i.awaitStatus(t, workflowID, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
		var stored []byte
		i.query(t, "SELECT raw_body FROM events WHERE workflow_id = $1 AND status = 'processed'", []any{workflowID}, &stored)
		require.True(t, bytes.Equal([]byte(push), stored), "the event has other bytes than were sent")
	}
	require.Zero(t, i.count(t, "SELECT count(*) FROM events WHERE key = 'unwanted'"))

	i.runTool(t, "temporal", "workflow", "reset", "--workflow-id", pushes[0], "--type", "FirstWorkflowTask", "--reason", "a test")
	i.awaitStatus(t, pushes[0], enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	require.Equal(t, 2, i.count(t, processedEvents))
	require.Zero(t, i.count(t, "SELECT count(*) FROM dead_letters WHERE workflow_id = $1", pushes[0]))
	out, err = i.run(t, "purge", "--expunge", pushes[0], "--reason", "asked by the customer")
	require.NoError(t, err, out)
	require.Equal(t, 1, i.count(t, processedEvents))

	i.awaitStatus(t, "bulky:poison", enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
	file, edited := filepath.Join(t.TempDir(), "body.json"), bulkyEvent("edited", 20<<20, 1)
	require.NoError(t, os.WriteFile(file, []byte(edited), 0o600))
	letter := strconv.Itoa(i.letterOf(t, "bulky:poison"))
	out, err = i.run(t, "dlq", "edit", letter, "--file", file, "--reason", "the sender's mistake", "--wait")
	require.NoError(t, err, out)
	var stored []byte
	i.query(t, "SELECT raw_body FROM events WHERE workflow_id = 'bulky:poison:r1' AND status = 'processed'", nil, &stored)
	require.True(t, bytes.Equal([]byte(edited), stored), "the event has other bytes than the edit")
	i.awaitCount(t, time.Minute, 0, "SELECT count(*) FROM inbox")
}

// An event with 1,200 entities waits in the last of its three pages, and is reset and replayed by operators: each entity changes once.
func TestAnEventOfManyPagesIsResetAndReplayed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bulky.yaml"), []byte(largest), 0o600))
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir, "BULKY_TOKEN="+secret)
	n := i.start(t, "serve")
	release := i.lockEntity(t, "bulky", "document", "many-1100")
	n.deliver(t, 202, "/webhooks/bulky", bulkyEvent("many", 10_000, 1200), "X-Bulky-Token", secret)
	i.awaitCount(t, time.Minute, 1000, "SELECT count(*) FROM event_entities")
	i.awaitEvent(t, "bulky:many", enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED) // a run can't be reset in its first workflow task
	i.runTool(t, "temporal", "workflow", "reset", "--workflow-id", "bulky:many", "--type", "FirstWorkflowTask", "--reason", "a test")
	require.Zero(t, i.count(t, processedEvents), "it is processed with its last page")
	release()
	i.awaitStatus(t, "bulky:many", enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	require.Equal(t, 1, i.count(t, processedEvents))
	require.Equal(t, 1200, i.count(t, "SELECT count(*) FROM event_entities"))
	require.Equal(t, 1200, i.count(t, "SELECT count(*) FROM entities WHERE links = 1"))

	body := strings.Replace(bulkyEvent("again", 10_000, 1200), `"type"`, `"tipe"`, 1)
	n.deliver(t, 202, "/webhooks/bulky", body, "X-Bulky-Token", secret)
	i.awaitStatus(t, "bulky:again", enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
	n.kill()
	corrected := strings.Replace(largest, ".body.type", ".body.tipe", 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bulky.yaml"), []byte(corrected), 0o600))
	i.start(t, "serve")
	out, err := i.run(t, "dlq", "replay", "bulky:again", "--wait")
	require.NoError(t, err, out)
	require.Equal(t, 2400, i.count(t, "SELECT count(*) FROM entities WHERE links = 1"))
	require.Zero(t, i.count(t, "SELECT count(*) FROM dead_letters WHERE state <> 'resolved'"))
}
