package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"holdfast/event"
	"holdfast/workflows"
)

// poison is signed but isn't JSON.
const poison = "{signed, but no JSON"

// definitionOf returns a provider that decodes bodies as decode says: json makes poison of what text accepts.
func definitionOf(decode string) string {
	return fmt.Sprintf(`
name: homemade
extends: standard-webhooks
decode:
  - as: %s
type: '"note"'
occurred_at: []
entities: []
`, decode)
}

// poisoned returns an installation with a poison event in its dead letters, whose definition has been corrected since, so that
// the event would be processed if it ran again.
func poisoned(t *testing.T) (i *installation, workflowID string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "homemade.yaml")
	require.NoError(t, os.WriteFile(file, []byte(definitionOf("json")), 0o644))
	i = newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir)
	n := i.start(t, "serve")

	id := uniqueID("msg")
	workflowID = "homemade:" + id
	a := n.sendStandard(t, "/webhooks/homemade", id, []byte(poison))
	require.Equal(t, 202, a.status, string(a.body))
	i.awaitStatus(t, workflowID, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)

	var body []byte
	var class, step, run string
	i.query(t, "SELECT raw_body, error_class, step, run_id FROM dead_letters WHERE state = 'open'", nil, &body, &class, &step, &run)
	require.Equal(t, poison, string(body), "the dead letter has the raw bytes")
	require.Equal(t, []string{"rejected", "parse"}, []string{class, step})
	require.Equal(t, i.describe(t, workflowID).GetExecution().GetRunId(), run)
	require.Zero(t, i.count(t, processedEvents))

	out, err := i.run(t, "dlq", "list")
	require.NoError(t, err, out)
	require.Contains(t, out, "homemade")
	n.terminate(t)
	require.NoError(t, os.WriteFile(file, []byte(definitionOf("text")), 0o644))
	i.start(t, "worker")
	return i, workflowID
}

// assertRescued asserts that the event has been processed and its dead letter is resolved.
func (i *installation) assertRescued(t *testing.T, workflowID string) {
	t.Helper()
	i.awaitStatus(t, workflowID, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	i.awaitCount(t, 10*time.Second, 1, processedEvents)
	require.Zero(t, i.count(t, openDeadLetters))
	var state, run string
	i.query(t, "SELECT state, resolved_run_id FROM dead_letters", nil, &state, &run)
	require.Equal(t, "resolved", state)
	require.Equal(t, i.describe(t, workflowID).GetExecution().GetRunId(), run)
	var body []byte
	i.query(t, "SELECT raw_body FROM events", nil, &body)
	require.Equal(t, poison, string(body))
}

// Poison, then a corrected definition, then `holdfast dlq replay`:
//   - the same workflow, event and bytes are processed, and the dead letter is resolved
//   - a second replay is refused
func TestPoisonIsReplayed(t *testing.T) {
	t.Parallel()
	i, workflowID := poisoned(t)
	id := fmt.Sprint(i.count(t, "SELECT id FROM dead_letters"))

	out, err := i.run(t, "dlq", "show", id)
	require.NoError(t, err, out)
	require.Contains(t, out, "rejected")

	out, err = i.run(t, "dlq", "replay", id, "--wait", "--json")
	require.NoError(t, err, out)
	require.Contains(t, out, `"outcome": "processed"`)
	require.Contains(t, out, `"dead_letter_id": `+id)
	i.assertRescued(t, workflowID)

	out, err = i.run(t, "dlq", "replay", id)
	require.Error(t, err)
	require.Contains(t, out, "resolved")
}

// The same with the temporal program.
func TestPoisonIsResetByTemporal(t *testing.T) {
	t.Parallel()
	i, workflowID := poisoned(t)
	i.runTool(t, "temporal", "workflow", "reset", "--workflow-id", workflowID,
		"--type", "FirstWorkflowTask", "--reason", "definition corrected")
	i.assertRescued(t, workflowID)
}

// An operator discards the event, and its run is reset nevertheless: the new run ends as discarded, names the operator, and
// changes nothing. The event is found by each of its names. Reopened, it is rescued like any other.
func TestADiscardSticksUntilItIsReopened(t *testing.T) {
	t.Parallel()
	i, workflowID := poisoned(t)
	var id, eventID string
	i.query(t, "SELECT id::text, event_id::text FROM dead_letters", nil, &id, &eventID)
	out, err := i.run(t, "dlq", "discard", id, "--reason", "a test of the sender")
	require.NoError(t, err, out)
	reset := func() {
		i.runTool(t, "temporal", "workflow", "reset", "--workflow-id", workflowID, "--type", "FirstWorkflowTask", "--reason", "all of them")
	}
	reset()
	var result workflows.ProcessResult
	require.NoError(t, i.dial(t).GetWorkflow(t.Context(), workflowID, "").Get(t.Context(), &result))
	require.Equal(t, event.OutcomeDiscarded, result.Outcome)
	require.Equal(t, "a test of the sender", result.Decision.Reason)
	i.replay(t, "decided_at_persist", workflowID)
	require.Contains(t, result.Decision.By, "cli:")
	require.Zero(t, i.count(t, "SELECT count(*) FROM events"))
	for _, name := range []string{id, eventID, workflowID} {
		out, err := i.run(t, "event", "show", name)
		require.NoError(t, err, out)
		require.Contains(t, out, "(discarded)")
	}

	out, err = i.run(t, "dlq", "reopen", id, "--json")
	require.NoError(t, err, out)
	var reopened struct {
		State   event.DeadLetterState `json:"state"`
		EventID string                `json:"event_id"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &reopened), out)
	require.Equal(t, event.DeadLetterOpen, reopened.State)
	require.Equal(t, eventID, reopened.EventID)
	reset()
	i.assertRescued(t, workflowID)
}

// The same with tctl.
func TestPoisonIsResetByTctl(t *testing.T) {
	t.Parallel()
	i, workflowID := poisoned(t)
	i.runTool(t, "tctl", "--namespace", i.namespace, "workflow", "reset", "--workflow_id", workflowID,
		"--reset_type", "FirstWorkflowTask", "--reason", "definition corrected")
	i.assertRescued(t, workflowID)
}

// The same with a redelivery of the provider:
//   - it runs under the first event's ID, and the answer names the dead letter
func TestPoisonIsRedelivered(t *testing.T) {
	t.Parallel()
	i, workflowID := poisoned(t)
	var eventID string
	i.query(t, "SELECT event_id::text FROM dead_letters", nil, &eventID)
	n := i.start(t, "ingress")
	a := n.sendStandard(t, "/webhooks/homemade", strings.TrimPrefix(workflowID, "homemade:"), []byte(poison))
	require.Equal(t, 202, a.status)
	require.Equal(t, eventID, a.Events[0].EventID)
	require.Equal(t, i.count(t, "SELECT id FROM dead_letters"), a.Events[0].DeadLetterID)
	i.assertRescued(t, workflowID)
}
