package e2e

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
)

// A redelivery while the event is in progress, and one after it:
//   - both are duplicates and report the state of the first; the second one also reports when it was processed, and for which
//     request
func TestARedeliveryIsReported(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	n := i.start(t, "serve")
	id := uniqueID("evt")
	body := customerUpdated(id, uniqueID("cus"), "Ada", time.Now())

	release := i.lock(t, "entities")
	first := n.send(t, body)
	require.Equal(t, "accepted", first.state())
	again := n.send(t, body)
	require.Equal(t, 200, again.status)
	require.True(t, again.Duplicate)
	require.Equal(t, "processing", again.state())
	release()

	i.awaitStatus(t, "stripe:"+id, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	again = n.awaitProcessed(t, body)
	require.Equal(t, 200, again.status)
	require.Equal(t, "processed", again.Events[0].Outcome)
	cached := again.Events[0].Cached
	require.Equal(t, "processed", cached.Result)
	require.Equal(t, first.header.Get("X-Correlation-Id"), cached.CorrelationID)
	require.NotEqual(t, again.header.Get("X-Correlation-Id"), cached.CorrelationID)
	require.WithinDuration(t, time.Now(), cached.ProcessedAt, time.Minute)
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM events"))
}

// A redelivery arrives after Temporal's retention:
//   - Temporal runs it, but the database doesn't: the run completes as a duplicate, without any effect
//   - the answer to another redelivery has the ID of the event that owns the key
func TestADuplicateOutlivesTemporalsRetention(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	n := i.start(t, "serve")
	id := uniqueID("evt")
	workflowID := "stripe:" + id
	body := customerUpdated(id, uniqueID("cus"), "Ada", time.Now())
	first := n.send(t, body)
	require.Equal(t, "accepted", first.state())
	i.awaitStatus(t, workflowID, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)

	i.forget(t, workflowID, "Completed")

	require.Equal(t, "accepted", n.send(t, body).state())
	i.awaitStatus(t, workflowID, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	var result struct{ Outcome string }
	require.NoError(t, i.dial(t).GetWorkflow(context.Background(), workflowID, "").Get(context.Background(), &result))
	require.Equal(t, "duplicate", result.Outcome)
	again := n.awaitProcessed(t, body)
	require.Equal(t, "duplicate", again.Events[0].Outcome)
	require.Equal(t, first.Events[0].EventID, again.Events[0].EventID)
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM events"))
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM event_entities WHERE kind = 'customer'"))
}

// withBriefWindow returns an installation with a provider whose dedupe window is a second, and a function that sends one
// request of it.
func withBriefWindow(t *testing.T) (i *installation, send func() answer) {
	t.Helper()
	dir := t.TempDir()
	definition := "name: brief\nextends: standard-webhooks\ndedupe: 1s\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "brief.yaml"), []byte(definition), 0o644))
	i = newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir)
	n := i.start(t, "serve")
	id := uniqueID("msg")
	body := []byte(`{"type":"note.written","timestamp":"2026-01-01T00:00:00Z","data":{"id":"note_1"}}`)
	return i, func() answer { return n.sendStandard(t, "/webhooks/brief", id, body) }
}

// A redelivery after the provider's dedupe window:
//   - it is a new event, with its own ID and row
func TestAKeyIsFreeAfterItsWindow(t *testing.T) {
	t.Parallel()
	i, send := withBriefWindow(t)
	first := send()
	require.Equal(t, "accepted", first.state(), string(first.body))
	i.awaitCount(t, 30*time.Second, 1, processedEvents)
	var second answer
	eventually(t, 10*time.Second, "the window is over", func() error {
		second = send()
		if second.state() != "accepted" {
			return errors.New("not yet")
		}
		return nil
	})
	require.NotEqual(t, first.Events[0].EventID, second.Events[0].EventID)
	i.awaitCount(t, 30*time.Second, 2, processedEvents)
}
