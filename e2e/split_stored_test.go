package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/converter"

	"holdfast/event"
	"holdfast/workflows/runs"
)

// bundle reads a request as one event, and rejects it, since only its items have a type.
const bundle = `
name: bundle
body_limit: 26214400
auth:
  - token: {secrets: BUNDLE_TOKEN, in: header, name: x-bundle-token}
type: .body.type
untyped: reject
key: {parts: [.body.id], certainty: certain}
entities:
  - {kind: order, each: range(.body.lines), id: .body.id, op: patch, state: '{total: .body.total}'}
`

// keepParts keeps what is put into the inbox from being drained.
const keepParts = `
CREATE FUNCTION keep_parts() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.due_at := now() + interval ''1 hour''; RETURN NEW; END';
CREATE TRIGGER keep_parts BEFORE INSERT ON inbox FOR EACH ROW EXECUTE FUNCTION keep_parts()`

// Events that PostgreSQL has, because of their size or because they were accepted as copies, are split by a corrected definition.
// One of each two has the key of its first part. Processes are killed before the parts are in the inbox, while they are, and while they
// run:
//   - each part is processed once, with its bytes, whichever lane it waits in; the whole event is replaced
//   - while a part waits, its redelivery is its duplicate, and other content under its key is its conflict
//   - requests that are sent again, and resets, have no effect
func TestAStoredEventIsSplit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		size int
		lane event.Lane
		env  string
	}{
		"large":  {2 << 20, event.LaneLarge, "HOLDFAST_INGRESS_ACK=either"},
		"copied": {2000, event.LaneCopy, "HOLDFAST_INGRESS_ACK=stored"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			splitStored(t, c.size, c.lane, c.env)
		})
	}
}

func splitStored(t *testing.T, size int, lane event.Lane, env string) {
	t.Helper()
	dir := t.TempDir()
	define := func(text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "bundle.yaml"), []byte(text), 0o600))
	}
	define(bundle)
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir, "BUNDLE_TOKEN=token-of-bundle", "HOLDFAST_REPLAY_AUTOMATIC=false", env)
	items := map[string][]string{}
	bodies := map[string]string{}
	for order, id := range map[string]string{"apart": "", "shared": `"id":"shared_0",`} {
		for n := range 3 {
			text := ""
			if n == 0 {
				text = strings.Repeat("x", size)
			}
			items[order] = append(items[order], fmt.Sprintf(`{"id":%q,"type":"paid","lines":1,"total":%d,"text":%q}`,
				fmt.Sprintf("%s_%d", order, n), n, text))
		}
		bodies[order] = fmt.Sprintf(`{%s"sent":%q,"events":[%s]}`, id, order, strings.Join(items[order], ", "))
	}
	n := i.start(t, "serve")
	letters, workflows := map[string]string{}, map[string]string{}
	for order, body := range bodies {
		a := n.deliver(t, 202, "/webhooks/bundle", body, "X-Bundle-Token", "token-of-bundle")
		workflows[order] = a.Events[0].WorkflowID
		i.awaitStatus(t, workflows[order], enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
		letters[order] = fmt.Sprint(i.letterOf(t, workflows[order]))
	}
	n.kill()

	define(strings.Replace(bundle, "type: .body.type", "type: .body.type\nbatch: {items: events}", 1))
	i.exec(t, keepParts)
	worker := i.start(t, "worker")
	for order := range bodies {
		out, err := i.run(t, "dlq", "replay", letters[order])
		require.NoError(t, err, out)
	}
	worker.kill()
	worker = i.start(t, "worker")
	i.awaitCount(t, time.Minute, 6, "SELECT count(*) FROM inbox")
	require.GreaterOrEqual(t, i.count(t, "SELECT count(*) FROM inbox WHERE lane = $1", string(lane)), 2)
	i.awaitStatus(t, workflows["shared"], enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	worker.kill()

	var part, fingerprint string
	i.query(t, "SELECT event_id::text, fingerprint FROM idempotency_keys WHERE key = 'shared_0'", nil, &part, &fingerprint)
	starter := runs.NewStarter(i.dial(t), converter.GetDefaultDataConverter())
	again := event.Receipt{
		ID: uuid.Must(uuid.NewV7()).String(), Provider: "bundle", Key: "shared_0", Certain: true, Fingerprint: fingerprint,
	}
	started, err := starter.Start(t.Context(), again, nil, false)
	require.NoError(t, err)
	require.Nil(t, started.Conflict)
	require.Equal(t, part, started.EventID)
	require.Equal(t, runs.StateProcessing, started.State)
	again.Fingerprint = "sha256:other"
	started, err = starter.Start(t.Context(), again, nil, false)
	require.NoError(t, err)
	require.NotNil(t, started.Conflict)
	require.Equal(t, part, started.Conflict.Owner)

	i.exec(t, "DROP TRIGGER keep_parts ON inbox; UPDATE inbox SET due_at = now()")
	n = i.start(t, "serve")
	eventually(t, time.Minute, "a part is processed", func() error {
		if i.count(t, processedEvents) == 0 {
			return fmt.Errorf("none is")
		}
		return nil
	})
	n.kill()
	n = i.start(t, "serve")
	i.awaitCount(t, 2*time.Minute, 6, processedEvents)
	i.awaitCount(t, 2*time.Minute, 0, "SELECT count(*) FROM inbox")
	for order, all := range items {
		for k, item := range all {
			var stored []byte
			i.query(t, "SELECT raw_body FROM events WHERE key = $1", []any{fmt.Sprintf("%s_%d", order, k)}, &stored)
			require.True(t, bytes.Equal([]byte(item), stored), "part %d of %s has other bytes", k, order)
		}
		require.Equal(t, 1, i.count(t, "SELECT count(*) FROM decisions AS v JOIN dead_letters AS d ON d.event_id = v.event_id"+
			" WHERE d.id = $1 AND v.decision = 'replaced' AND d.state = 'discarded'", letters[order]))
		i.runTool(t, "temporal", "workflow", "reset", "--workflow-id", workflows[order], "--type", "FirstWorkflowTask", "--reason", "test")
		i.awaitStatus(t, workflows[order], enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
		n.deliver(t, 200, "/webhooks/bundle", bodies[order], "X-Bundle-Token", "token-of-bundle")
	}
	require.Equal(t, 6, i.count(t, processedEvents))
	require.Equal(t, 6, i.count(t, "SELECT count(*) FROM event_entities"))
	require.Zero(t, i.count(t, openDeadLetters))
	require.Zero(t, i.count(t, "SELECT count(*) FROM conflicts"))
	i.awaitCount(t, time.Minute, 0, "SELECT count(*) FROM inbox")
}
