package e2e

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
)

// canary is text that must not appear outside of payloads.
type canary string

func newCanary() canary { return canary("CANARY" + rand.Text()) }

// in marks a place, so that a leak shows where it came from.
func (c canary) in(place string) string { return string(c) + "-" + place }

// forms returns the encodings of the canary: plain, and within base64 at each of its three offsets.
func (c canary) forms() [][]byte {
	forms := [][]byte{[]byte(c)}
	for offset := range 3 {
		text := base64.RawStdEncoding.EncodeToString(append(make([]byte, offset), c...))
		forms = append(forms, []byte(text[4:len(text)-4])) // without the parts that depend on the neighbours
	}
	return forms
}

// leak returns the text around the canary; "" if the text doesn't contain it.
func (c canary) leak(text []byte) string {
	for _, form := range c.forms() {
		if at := bytes.Index(text, form); at >= 0 {
			return fmt.Sprintf("%q", text[max(0, at-200):min(len(text), at+200)])
		}
	}
	return ""
}

// inTemporal searches for the canary in every file of the server: its database, the database's log, and its own log.
func (c canary) inTemporal(t *testing.T, i *installation) (leaks []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(i.server.Dir(), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a journal of the database, removed with its transaction
		}
		if leak := c.leak(text); leak != "" {
			leaks = append(leaks, filepath.Base(path)+": "+leak)
		}
		return err
	}))
	return leaks
}

// canaryDefinition keeps a header and a parameter, and reads a token that is in each request.
const canaryDefinition = `
name: canary
extends: token
secrets: CANARY_TOKEN
auth:
  - token: {in: header, name: x-webhook-token}
  - token: {in: query, name: key}
keep:
  headers: [idempotency-key, x-note]
  query: [note]
entities:
  - {kind: thing, id: .body.thing, op: patch, state: .body.data}
`

// Everything that can happen to an event, with a canary in its body, a kept header, a kept parameter, the ID of its entity, the
// secret of its sender and a wrong secret:
//   - with payload keys the canary is in no debug log, trace, metric, answer to a sender, refusal of the operator API or file
//     of Temporal
//   - without them Temporal has it in clear text, which shows that this test can fail
func TestNoPayloadLeaks(t *testing.T) {
	t.Parallel()
	for _, encrypted := range []bool{true, false} {
		t.Run(fmt.Sprintf("encrypted=%t", encrypted), func(t *testing.T) {
			t.Parallel()
			c := newCanary()
			env := []string{"HOLDFAST_LOG_LEVEL=debug", "OTEL_TRACES_EXPORTER=console", "OTEL_BSP_SCHEDULE_DELAY=100",
				"CANARY_TOKEN=" + c.in("secret"), "HOLDFAST_PROVIDERS_DIR=" + t.TempDir()}
			if encrypted {
				env = append(env, "HOLDFAST_PAYLOAD_KEYS="+newPayloadKey(t, "2026"))
			}
			i, seen := c.live(t, env)
			for source, text := range seen {
				require.Empty(t, c.leak([]byte(text)), source)
			}
			require.Contains(t, seen["log"], "RunWorkflow:ProcessEvent", "the traces are among it")
			require.Contains(t, seen["log"], `"level":"DEBUG"`)
			require.Contains(t, seen["metrics"], "holdfast_")
			if encrypted {
				require.Empty(t, c.inTemporal(t, i))
			} else {
				require.NotEmpty(t, c.inTemporal(t, i))
			}
		})
	}
}

// live runs an installation's whole life. It returns everything observable, by source.
func (c canary) live(t *testing.T, env []string) (i *installation, seen map[string]string) {
	t.Helper()
	dir := strings.TrimPrefix(env[4], "HOLDFAST_PROVIDERS_DIR=")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "canary.yaml"), []byte(canaryDefinition), 0o644))
	i = newInstallation(t, env...)
	n := i.start(t, "serve")
	var answers strings.Builder
	send := func(want int, key, token, body string) (workflowID string) {
		a, err := n.post("/webhooks/canary?note="+c.in("parameter"), []byte(body),
			"Idempotency-Key", key, "X-Webhook-Token", token, "X-Note", c.in("header"), "X-Unkept", c.in("other"))
		require.NoError(t, err)
		require.Equal(t, want, a.status, string(a.body))
		fmt.Fprintln(&answers, string(a.body), a.header)
		if len(a.Events) == 0 {
			return ""
		}
		return a.Events[0].WorkflowID
	}
	good := fmt.Sprintf(`{"type": "thing.changed", "thing": %q, "data": {"name": %q}}`, c.in("entity"), c.in("body"))
	contract := fmt.Sprintf(`{"type": "thing.changed", "thing": %q, "data": %q}`, c.in("entity"), c.in("body"))
	malformed := `{"name": "` + c.in("malformed") + `"`
	key := uniqueID("good")
	i.awaitStatus(t, send(202, key, c.in("secret"), good), enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	send(200, key, c.in("secret"), good)
	send(401, uniqueID("forged"), c.in("wrong"), good)
	replayed := send(202, uniqueID("contract"), c.in("secret"), contract)
	reset := send(202, uniqueID("malformed"), c.in("secret"), malformed)
	for _, id := range []string{replayed, reset} {
		i.awaitStatus(t, id, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
	}
	i.awaitCount(t, 30*time.Second, 2, openDeadLetters)
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM entities WHERE external_id = $1", c.in("entity")))
	require.Equal(t, 2, i.count(t, `SELECT count(*) FROM dead_letters WHERE error_class = 'rejected'
		AND error_code IN ('bad_state', 'malformed_json') AND error_message <> 'Encoded failure'`), "failures are read back")

	out, err := i.run(t, "dlq", "replay", fmt.Sprint(i.count(t, "SELECT id FROM dead_letters WHERE workflow_id = $1", replayed)))
	require.NoError(t, err, out)
	i.runTool(t, "temporal", "workflow", "reset", "--workflow-id", reset, "--type", "FirstWorkflowTask", "--reason", "a test")
	for _, id := range []string{replayed, reset} {
		i.awaitRuns(t, id, 2)
		i.awaitStatus(t, id, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
	}

	refusals := []apiAnswer{
		api{url: n.operator}.call(t, "GET", "/events?status="+c.in("status"), "", 400, nil),
		api{url: n.operator}.call(t, "POST", "/dead-letters/999/discard", `{"reason":"`+c.in("reason")+`"}`, 404, nil),
		api{url: n.operator}.call(t, "POST", "/dead-letters/999/edit", `{"body":"`+c.in("body")+`"`, 400, nil),
	}
	for _, r := range refusals {
		answers.Write(r.body)
	}
	metrics := n.metrics(t)
	for _, path := range []string{"/metrics.json", "/metrics/history"} {
		metrics += string(api{url: n.operator}.call(t, "GET", path, "", 200, nil).body)
	}
	n.terminate(t)
	return i, map[string]string{"log": n.log.String(), "metrics": metrics, "answers": answers.String(), "command": out}
}
