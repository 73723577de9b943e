package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

const declaredTypes = `
event_types:
  order.paid:
    description: An order was paid in full.
    check: refuse
    versions:
      1:
        schema:
          type: object
          required: [id, total]
          properties:
            id: {type: string}
            total: {type: string, pattern: '^\d+\.\d{2}$'}
        example: {id: o1, total: "19.99"}
`

// A team declares a type in a file and publishes events:
//   - an event that violates the type is refused with path and rule, and is not stored; a valid one is processed
//   - every ingress follows a changed type without a restart, also one that already ran
//   - an event that was accepted with a warning is a duplicate if it is sent again after its type refuses such events
//   - a mistake in the file is refused with its line, and nothing changes
//   - the type can be listed, shown and deleted; then nothing is checked
func TestPublishedEventsAreCheckedAgainstDeclaredTypes(t *testing.T) {
	t.Parallel()
	const token = "token-of-publishers-alone"
	i := newInstallation(t, "EVENTS_TOKEN="+token)
	first, second := i.start(t, "ingress"), i.start(t, "ingress")
	i.start(t, "worker")
	file := filepath.Join(t.TempDir(), "event-types.yaml")
	apply := func(content string) (string, error) {
		require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
		return i.run(t, "event-type", "apply", "-f", file)
	}
	text, err := apply(declaredTypes)
	require.NoError(t, err, text)
	require.Contains(t, text, "+ event type order.paid")
	const good, bad = `{"id":"evt_good","source":"shop","type":"order.paid","data":{"id":"o1","total":"19.99"}}`,
		`{"id":"evt_bad","source":"shop","type":"order.paid","data":{"id":"o1","total":19.9,"note":"hunter2"}}`
	other := strings.Replace(bad, "evt_bad", eachID, 1)
	for _, node := range []*node{first, second} {
		awaitAnswer(t, dispatcherClient{node.ingress, token}, other, 422, "order.paid version 1: /data/total: type")
	}
	status, answer := dispatcherClient{first.ingress, token}.try(t, "POST", "/events", strings.Replace(bad, "evt_bad", "evt_new", 1))
	require.Equal(t, 422, status)
	require.NotContains(t, string(answer), "hunter2")
	dispatcherClient{first.ingress, token}.call(t, "POST", "/events", good, 202, nil)
	i.awaitCount(t, 30*time.Second, 1, "SELECT count(*) FROM events WHERE workflow_id = 'events:shop:evt_good' AND status = 'processed'")
	require.Equal(t, 0, i.count(t, "SELECT count(*) FROM events WHERE workflow_id = 'events:shop:evt_new'"))

	text, err = apply("event_types:\n  order.paid:\n    versions:\n      1: {schema: {type: strng}}\n")
	require.Error(t, err)
	require.Regexp(t, `\[4:\d+\] event_types\.order\.paid: versions\.1\.schema: it is not a schema`, text)
	text, err = i.run(t, "event-type", "show", "order.paid")
	require.NoError(t, err, text)
	require.Contains(t, text, `"pattern": "^\\d+\\.\\d{2}$"`)
	text, err = i.run(t, "event-type", "list")
	require.NoError(t, err, text)
	require.Contains(t, text, "An order was paid in full.")

	text, err = apply("event_types:\n  order.paid: {check: warn, versions: {1: {schema: {type: object, required: [paid_at]}}}}\n")
	require.NoError(t, err, text)
	for _, node := range []*node{first, second} {
		awaitAnswer(t, dispatcherClient{node.ingress, token}, bad, 202, "/data/paid_at: required")
	}
	text, err = apply(declaredTypes)
	require.NoError(t, err, text)
	awaitAnswer(t, dispatcherClient{second.ingress, token}, other, 422, "/data/total: type")
	awaitAnswer(t, dispatcherClient{second.ingress, token}, bad, 200, `"warning":"order.paid version 1: /data/total: type"`)

	text, err = i.run(t, "event-type", "delete", "order.paid")
	require.NoError(t, err, text)
	eventually(t, 20*time.Second, "nothing is checked", func() error {
		if _, text := (dispatcherClient{second.ingress, token}).try(t, "POST", "/events", good); strings.Contains(string(text), "warning") {
			return errors.New(string(text))
		}
		return nil
	})
	text, err = i.run(t, "audit", "list", "--json")
	require.NoError(t, err, text)
	require.Contains(t, text, "event_type.delete")
}

// eachID becomes another ID for each attempt of awaitAnswer: the retry of an accepted event is never refused.
const eachID = "evt_each"

// awaitAnswer publishes until an ingress answers as expected; to an event that was accepted before, it answers with 200.
func awaitAnswer(t *testing.T, d dispatcherClient, body string, status int, part string) {
	t.Helper()
	eventually(t, 20*time.Second, "the ingress follows the type", func() error {
		answered, text := d.try(t, "POST", "/events", strings.Replace(body, eachID, uuid.NewString(), 1))
		if answered != status && (status != 202 || answered != 200) || !strings.Contains(string(text), part) {
			return fmt.Errorf("%d: %s", answered, text)
		}
		return nil
	})
}
