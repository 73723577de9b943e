package e2e

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"holdfast/workflows"
)

// largeProvider returns the settings of the provider whose events may have 25 MiB.
func largeProvider(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bulky.yaml"), []byte(largest), 0o600))
	return []string{"HOLDFAST_PROVIDERS_DIR=" + dir, "BULKY_TOKEN=" + secret}
}

// Temporal is down while large events arrive, one before that is noticed:
//   - the response is 202 after PostgreSQL has committed the body
//   - the ingress is killed, and its successor gives a redelivery a 2xx, too
//   - once Temporal is back, each event is processed once, with the bytes that were sent, and the inbox is empty
func TestLargeEventsOutlastTemporal(t *testing.T) {
	t.Parallel()
	i, alone := aloneWithTemporal(t)
	i.env = append(largeProvider(t), impatience...)
	ingress := i.start(t, "ingress")
	require.NoError(t, alone.Stop())
	sent := map[string]string{
		"first": bulkyEvent("first", 2<<20, 1), "second": bulkyEvent("second", 20<<20, 2), "poison": withoutType("poison", 2<<20),
	}
	for id, body := range sent {
		require.Equal(t, "spooled", ingress.deliver(t, 202, "/webhooks/bulky", body, "X-Bulky-Token", secret).state(), id)
		require.Equal(t, 1, i.count(t, "SELECT count(*) FROM inbox WHERE lane = 'large' AND length(raw_body) = $1"+
			" AND position($2 IN convert_from(receipt, 'UTF8')) > 0", len(body), `"`+id+`"`), "the 2xx comes after the commit")
	}
	ingress.kill()
	ingress = i.start(t, "ingress")
	ingress.deliver(t, 202, "/webhooks/bulky", sent["first"], "X-Bulky-Token", secret)
	ingress.kill()
	require.NoError(t, alone.Start())

	due := func() { i.exec(t, "UPDATE inbox SET due_at = now()") } // for the drain of a process that starts
	due()
	n := i.start(t, "serve")
	i.awaitCount(t, 2*time.Minute, 2, processedEvents)
	i.awaitCount(t, time.Minute, 1, openDeadLetters)
	n.terminate(t)
	due() // the redelivery's body leaves when it is checked again
	i.start(t, "serve")
	i.awaitCount(t, time.Minute, 0, inboxRows)
	require.Equal(t, 2, i.count(t, "SELECT count(*) FROM events"))
	require.Equal(t, 3, i.count(t, "SELECT count(*) FROM entities WHERE links = 1"))
	for id, table := range map[string]string{"first": "events", "second": "events", "poison": "dead_letters"} {
		var stored []byte
		i.query(t, "SELECT raw_body FROM "+table+" WHERE key = $1", []any{id}, &stored)
		require.True(t, bytes.Equal([]byte(sent[id]), stored), "%s has other bytes", id)
	}
}

// PostgreSQL is restored from a backup that is older than four large events, and Temporal continues. One event was accepted, one
// was stored but not processed, one was processed, and one was a dead letter:
//   - each ends as a dead letter that says that its body is lost; no run is left open, and none is retried
//   - doctor counts them; the command line and the console say what to do
//   - what the provider sends again is processed, and resolves the dead letter
func TestAnOlderDatabaseNamesTheLargeEventsItLost(t *testing.T) {
	t.Parallel()
	i := newInstallation(t, append(largeProvider(t), sweepOften)...)
	n := i.start(t, "serve")
	i.awaitCount(t, time.Minute, 1, marked)
	i.pauseSweeps(t)
	n.terminate(t)
	i.backUp(t)

	n = i.start(t, "serve")
	i.runTool(t, "temporal", "schedule", "toggle", "--schedule-id", workflows.ScheduleSweep, "--unpause")
	send := func(n *node, id string) {
		n.deliver(t, 202, "/webhooks/bulky", bulkyEvent(id, 2<<20, 1), "X-Bulky-Token", secret)
	}
	send(n, "processed")
	n.deliver(t, 202, "/webhooks/bulky", withoutType("dead", 2<<20), "X-Bulky-Token", secret)
	i.awaitStatus(t, "bulky:processed", enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	i.awaitStatus(t, "bulky:dead", enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
	i.awaitSweeps(t, 2)
	release := i.lock(t, "entities")
	send(n, "stored")
	i.awaitCount(t, time.Minute, 1, persistedEvents)
	n.kill()
	ingress := i.start(t, "ingress")
	send(ingress, "accepted")
	ingress.terminate(t)
	release()

	i.restore(t)
	require.Zero(t, i.count(t, "SELECT (SELECT count(*) FROM events) + (SELECT count(*) FROM inbox) + (SELECT count(*) FROM dead_letters)"))
	n = i.start(t, "serve")
	lost := []string{"accepted", "stored", "processed", "dead"}
	for _, id := range lost {
		i.awaitCount(t, 2*time.Minute, 1, lostEvents+" AND key = $1", id)
		i.awaitStatus(t, "bulky:"+id, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
		i.requireShown(t, "bulky:"+id, "ask the provider to send the event again", "have the provider send it again")
		page, err := client.Get(fmt.Sprintf("%s/console/dead-letters/%d", n.operator, i.letterOf(t, "bulky:"+id)))
		require.NoError(t, err)
		shown, err := io.ReadAll(page.Body)
		require.NoError(t, err)
		require.NoError(t, page.Body.Close())
		require.Contains(t, string(shown), "ask the provider to send the event again")
	}
	require.Equal(t, 1, i.count(t, setBackBy, "PostgreSQL"))
	i.awaitSweeps(t, 2)
	require.Equal(t, len(lost), i.count(t, "SELECT count(*) FROM dead_letters"))
	require.LessOrEqual(t, i.count(t, "SELECT max(failures) FROM dead_letters"), 2, "the processed one was replayed once")
	found, _ := i.doctor(t)
	for _, f := range found.Findings {
		if f.Check == "dead letters" {
			require.Contains(t, f.Detail, "open 3, exhausted 1")
		}
	}

	for _, id := range lost[:3] {
		send(n, id)
		i.awaitStatus(t, "bulky:"+id, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	}
	i.awaitCount(t, time.Minute, 1, lostEvents) // the provider sends the dead one again, and it is a dead letter again
	require.Equal(t, 3, i.count(t, processedEvents))
}
