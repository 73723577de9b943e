package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
)

// A sender puts several events into a request, and the definition takes the request for one event without a key. It is corrected:
//   - a replay, with a kill -9 behind it, a reset and an edit split each request as the ingress would
//   - a request that is sent again after it, or before it, has no second effect
//   - the whole event is replaced by its parts: a second reset changes nothing
func TestAReplaySplitsByTheCurrentDefinition(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	define := func(text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "acme.yaml"), []byte(text), 0o600))
	}
	certain := strings.Replace(acme, "parts: [.body.id]", "parts: [.body.id], certainty: certain", 1)
	define(certain)
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir, "ACME_TOKEN=token-of-acme", "HOLDFAST_REPLAY_AUTOMATIC=false")
	n := i.start(t, "serve")
	bodyOf := func(order string) string {
		var items []string
		for item := range 3 {
			items = append(items, fmt.Sprintf(`{"id":"evt_%s_%d","type":"order.paid","order":"%s_%d","total":7}`, order, item, order, item))
		}
		return `{"sent":"` + order + `","events":[` + strings.Join(items, ",") + `]}`
	}
	send := func(order string, status int) {
		a, err := n.post("/webhooks/acme", []byte(bodyOf(order)), "X-Acme-Token", "token-of-acme")
		require.NoError(t, err)
		require.Equal(t, status, a.status, string(a.body))
	}
	orders := []string{"replayed", "repeated", "reset", "edited"}
	letters, workflows := map[string]string{}, map[string]string{}
	for _, order := range orders {
		send(order, 202)
		like := "%" + `"sent":"` + order + `"` + "%"
		i.awaitCount(t, time.Minute, 1, "SELECT count(*) FROM dead_letters WHERE convert_from(raw_body, 'UTF8') LIKE $1", like)
		var id, workflowID string
		i.query(t, "SELECT id::text, workflow_id FROM dead_letters WHERE convert_from(raw_body, 'UTF8') LIKE $1", []any{like}, &id, &workflowID)
		letters[order], workflows[order] = id, workflowID
	}
	define(strings.Replace(certain, "type: .body.type", "type: .body.type\nbatch: {items: events}", 1))
	n.reload(t, "providers.reloaded")

	out, err := i.run(t, "dlq", "replay", "--provider", "acme", "--dry-run", "--json")
	require.NoError(t, err, out)
	require.Contains(t, strings.ReplaceAll(out, " ", ""), `"splits":4`)
	out, err = i.run(t, "dlq", "replay", letters["replayed"])
	require.NoError(t, err, out)
	n.kill()
	n = i.start(t, "serve")
	send("repeated", 202)
	const split = "SELECT count(*) FROM events WHERE status = 'processed' AND provider = 'acme' AND key LIKE $1"
	i.awaitCount(t, time.Minute, 3, split, "evt_repeated_%")
	out, err = i.run(t, "dlq", "replay", letters["repeated"], "--wait")
	require.NoError(t, err, out)
	require.Contains(t, out, "splits it into 3 events")
	i.runTool(t, "temporal", "workflow", "reset", "--workflow-id", workflows["reset"], "--type", "FirstWorkflowTask", "--reason", "test")
	file := filepath.Join(t.TempDir(), "body")
	require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(bodyOf("edited"), `"total":7`, `"total": 7`)), 0o600))
	out, err = i.run(t, "dlq", "edit", letters["edited"], "--file", file, "--reason", "typo", "--wait")
	require.NoError(t, err, out)
	for _, order := range orders {
		i.awaitCount(t, time.Minute, 3, split, "evt_"+order+"_%")
		i.awaitCount(t, time.Minute, 1, "SELECT count(*) FROM decisions AS v JOIN dead_letters AS d ON d.event_id = v.event_id"+
			" WHERE d.id = $1 AND v.decision = 'replaced' AND d.state = 'discarded'", letters[order])
	}
	var first string
	i.query(t, "SELECT replaced_by::text FROM dead_letters WHERE id = $1", []any{letters["reset"]}, &first)
	out, err = i.run(t, "event", "show", first)
	require.NoError(t, err, out)
	require.Contains(t, out, "split from event")

	for _, order := range orders {
		send(order, 200)
	}
	i.runTool(t, "temporal", "workflow", "reset", "--workflow-id", workflows["reset"], "--type", "FirstWorkflowTask", "--reason", "test")
	i.awaitRuns(t, workflows["reset"], 3)
	i.awaitStatus(t, workflows["reset"], enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	i.awaitCount(t, time.Minute, 0, "SELECT count(*) FROM inbox")
	require.Equal(t, 12, i.count(t, "SELECT count(*) FROM events"))
	require.Equal(t, 12, i.count(t, "SELECT count(*) FROM event_entities"))
	require.Zero(t, i.count(t, openDeadLetters))
}
