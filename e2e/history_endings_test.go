package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"holdfast/event"
	"holdfast/workflows"
)

// Each way in which a run ends without an effect leaves a history that the current code replays:
//   - the event's type is ignored
//   - another event owns its key, which Temporal has forgotten
//   - an operator has decided about it: found when its dead letter is recorded, and when its entities are written
func TestHistoriesOfEndingsReplay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ignoring := acme + "overrides: [{types: [order.seen], ignore: true}]\nretry: {attempts: 1, delays: [1s]}\n"
	for name, text := range map[string]string{"acme": ignoring, "homemade": definitionOf("json")} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(text), 0o600))
	}
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir, "ACME_TOKEN="+secret)
	n := i.start(t, "serve")
	deliver := func(id, kind string) {
		body := fmt.Sprintf(`{"id":%q,"type":%q,"order":"o1","total":7}`, id, kind)
		n.deliver(t, 202, "/webhooks/acme", body, "X-Acme-Token", secret)
	}
	ended := func(name, workflowID string, want event.Outcome) {
		t.Helper()
		i.awaitStatus(t, workflowID, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
		var result workflows.ProcessResult
		require.NoError(t, i.dial(t).GetWorkflow(t.Context(), workflowID, "").Get(t.Context(), &result))
		require.Equal(t, want, result.Outcome)
		i.replay(t, name, workflowID)
	}

	deliver("e1", "order.seen")
	ended("ignored", "acme:e1", event.OutcomeIgnored)

	deliver("e2", "order.paid")
	i.awaitStatus(t, "acme:e2", enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	i.forget(t, "acme:e2", "Completed")
	deliver("e2", "order.paid")
	ended("duplicate", "acme:e2", event.OutcomeDuplicate)

	poisonID := uniqueID("msg")
	n.sendStandard(t, "/webhooks/homemade", poisonID, []byte(poison))
	i.awaitStatus(t, "homemade:"+poisonID, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
	i.discard(t, "homemade:"+poisonID)
	i.runTool(t, "temporal", "workflow", "reset", "--workflow-id", "homemade:"+poisonID, "--type", "FirstWorkflowTask",
		"--reason", "all of them")
	ended("decided_at_dead_letter", "homemade:"+poisonID, event.OutcomeDiscarded)

	i.exec(t, "ALTER TABLE event_entities RENAME TO hidden")
	deliver("e3", "order.paid")
	i.awaitStatus(t, "acme:e3", enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
	i.exec(t, "ALTER TABLE hidden RENAME TO event_entities")
	release := i.lockEntity(t, "acme", "order", "o1")
	out, err := i.run(t, "dlq", "replay", fmt.Sprint(i.letterOf(t, "acme:e3")))
	require.NoError(t, err, out)
	i.awaitStatus(t, "acme:e3", enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING)
	i.awaitEvent(t, "acme:e3", enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED)
	i.exec(t, "UPDATE dead_letters SET replaying_since = now() - interval '20 minutes' WHERE state = 'replaying'")
	i.discard(t, "acme:e3")
	release()
	ended("decided_at_upsert", "acme:e3", event.OutcomeDiscarded)
}

// letterOf returns the ID of a workflow's dead letter.
func (i *installation) letterOf(t *testing.T, workflowID string) (id int) {
	t.Helper()
	i.query(t, "SELECT id FROM dead_letters WHERE workflow_id = $1", []any{workflowID}, &id)
	return id
}

func (i *installation) discard(t *testing.T, workflowID string) {
	t.Helper()
	out, err := i.run(t, "dlq", "discard", fmt.Sprint(i.letterOf(t, workflowID)), "--reason", "a test of the sender")
	require.NoError(t, err, out)
}

// A large event whose entity is locked is written in two steps, and its history replays.
func TestHistoryOfALargeUpsertReplays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bulky.yaml"), []byte(bulky), 0o600))
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir, "BULKY_TOKEN="+secret)
	n := i.start(t, "serve")
	release := i.lockEntity(t, "bulky", "document", "big-0")
	n.deliver(t, 202, "/webhooks/bulky", bulkyEvent("big", 600_000, 1), "X-Bulky-Token", secret)
	i.awaitCount(t, time.Minute, 1, "SELECT count(*) FROM events")
	i.awaitEvent(t, "bulky:big", enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED)
	release()
	i.awaitStatus(t, "bulky:big", enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	i.replay(t, "large_upsert", "bulky:big")
}
