package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
)

// largest stores as many entities as an event says; its bodies may have 25 MiB. Events without a type are rejected.
const largest = `
name: bulky
body_limit: 26214400
auth:
  - token: {secrets: BULKY_TOKEN, in: header, name: x-bulky-token}
type: .body.type
untyped: reject
key: {parts: [.body.id]}
entities:
  - kind: document
    each: range(.body.entities)
    id: .body.id + "-" + ($item | tostring)
    op: snapshot
    state: '{id: .body.id}'
`

// A push of 20 MiB arrives at GitHub's address, and each process is killed in the middle:
//   - it is acknowledged while no worker runs, and its history doesn't have its bytes
//   - after a kill of the ingress, and of a worker between its steps, it is processed with exactly the bytes that were sent
//   - the inbox keeps none of them
func TestALargePushSurvivesKills(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	ingress := i.start(t, "ingress", "GITHUB_WEBHOOK_SECRET="+secret)
	delivery := uniqueID("push")
	body := pushOf(20 << 20)
	post := func() answer {
		a, err := ingress.post("/webhooks/github", []byte(body), "X-Hub-Signature-256", "sha256="+hexMAC(secret, body),
			"X-Github-Event", "push", "X-Github-Delivery", delivery)
		require.NoError(t, err)
		return a
	}
	a := post()
	require.Equal(t, 202, a.status, string(a.body))
	again := post()
	require.Equal(t, 200, again.status, string(again.body))
	workflowID := a.Events[0].WorkflowID
	require.Equal(t, a.Events[0].EventID, again.Events[0].EventID)
	i.awaitCount(t, time.Minute, 1, "SELECT count(*) FROM inbox WHERE lane = 'large'")
	ingress.kill()
	require.Less(t, i.historySize(t, workflowID), 64<<10)

	worker := i.start(t, "worker")
	release := i.lock(t, "events")
	i.awaitCount(t, time.Minute, 1,
		"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
	worker.kill()
	release()
	i.start(t, "worker")
	i.awaitStatus(t, workflowID, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	var stored []byte
	i.query(t, "SELECT raw_body FROM events WHERE workflow_id = $1 AND status = 'processed'", []any{workflowID}, &stored)
	require.True(t, bytes.Equal([]byte(body), stored), "the event has other bytes than were sent")
	require.Zero(t, i.count(t, "SELECT count(*) FROM inbox"))
	require.Zero(t, i.count(t, "SELECT count(*) FROM dead_letters"))
	i.replay(t, "large_in_postgres", workflowID)
}

// Large events that can't be processed:
//   - one that can't be parsed becomes a dead letter with its bytes; after a correction of the definition it is replayed with them
//   - one whose body PostgreSQL no longer has ends as a dead letter that says so
//   - while PostgreSQL is down, the response is 503
func TestLargeEventsThatCannotBeProcessed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "bulky.yaml")
	require.NoError(t, os.WriteFile(file, []byte(largest), 0o600))
	i := newInstallation(t)
	i.env = append(i.env, "HOLDFAST_PROVIDERS_DIR="+dir, "BULKY_TOKEN="+secret)
	ingress := i.start(t, "ingress")
	poison, lost := withoutType("poison", 6<<20), bulkyEvent("lost", 3<<20, 1)
	for _, body := range []string{poison, lost} {
		require.Equal(t, "accepted", ingress.deliver(t, 202, "/webhooks/bulky", body, "X-Bulky-Token", secret).state())
	}
	require.Equal(t, 2, i.count(t, "SELECT count(*) FROM inbox WHERE lane = 'large'"))
	i.query(t, "DELETE FROM inbox WHERE position('lost' IN convert_from(receipt, 'UTF8')) > 0 RETURNING 1", nil, new(int))

	worker := i.start(t, "worker")
	for id, code := range map[string]string{"poison": "%", "lost": "body_lost"} {
		i.awaitStatus(t, "bulky:"+id, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
		require.Equal(t, 1, i.count(t, "SELECT count(*) FROM dead_letters WHERE key = $1 AND error_code LIKE $2", id, code), id)
	}
	var stored []byte
	i.query(t, "SELECT raw_body FROM dead_letters WHERE key = 'poison'", nil, &stored)
	require.True(t, bytes.Equal([]byte(poison), stored))
	require.Zero(t, i.count(t, "SELECT count(*) FROM inbox"))

	worker.kill()
	corrected := strings.Replace(largest, ".body.type", ".body.tipe", 1)
	require.NoError(t, os.WriteFile(file, []byte(corrected), 0o600))
	i.start(t, "worker")
	out, err := i.run(t, "dlq", "replay", fmt.Sprint(i.letterOf(t, "bulky:poison")))
	require.NoError(t, err, out)
	i.awaitStatus(t, "bulky:poison", enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	i.query(t, "SELECT raw_body FROM events WHERE key = 'poison'", nil, &stored)
	require.True(t, bytes.Equal([]byte(poison), stored))

	without := i.start(t, "ingress", "DATABASE_URL=postgres://127.0.0.1:1/none?sslmode=disable")
	without.deliver(t, 503, "/webhooks/bulky", bulkyEvent("refused", 3<<20, 1), "X-Bulky-Token", secret)
}

// pushOf returns a push of exactly size bytes.
func pushOf(size int) string {
	const start = `{"ref":"refs/heads/main","repository":{"id":1,"full_name":"a/b"},"sender":{"id":1,"login":"a"},` +
		`"commits":[{"id":"1","message":"`
	return start + strings.Repeat("x", size-len(start)-len(`"}]}`)) + `"}]}`
}
