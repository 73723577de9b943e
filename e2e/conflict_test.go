package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"holdfast/event"
)

// told returns what the answer says about conflicts.
func (a answer) told(t *testing.T) (whole, first bool) {
	t.Helper()
	var read struct {
		Conflict bool
		Events   []struct{ Conflict bool }
	}
	require.NoError(t, json.Unmarshal(a.body, &read))
	require.Len(t, read.Events, 1)
	return read.Conflict, read.Events[0].Conflict
}

// A sender uses an ID for two events:
//   - the second is accepted as a conflict, during and after the first one's processing, and becomes a dead letter
//   - another delivery of the first isn't a conflict, though it counts its endpoints differently
//   - the log, the metrics and the list show whose key it is, and how often that happened
func TestAKeyUsedTwiceIsReported(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	n := i.start(t, "serve")
	id := uniqueID("evt")
	body := func(name string, pending int) []byte {
		return fmt.Appendf(nil, `{"id":"%s","object":"event","type":"customer.updated","created":%d,"pending_webhooks":%d,`+
			`"data":{"object":{"id":"cus_1","object":"customer","name":"%s"}}}`, id, 1700000000, pending, name)
	}
	requireConflict := func(want bool, a answer) {
		t.Helper()
		whole, first := a.told(t)
		require.Equal(t, []bool{want, want}, []bool{whole, first}, string(a.body))
		if want {
			require.False(t, a.Duplicate)
			require.Contains(t, a.Events[0].WorkflowID, ":conflict:")
		}
	}
	release := i.lock(t, "entities")
	first := n.send(t, body("Ada", 2))
	require.Equal(t, "accepted", first.state())
	requireConflict(false, first)
	held := n.send(t, body("Eve", 2))
	requireConflict(true, held)
	i.awaitStatus(t, held.Events[0].WorkflowID, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
	release()
	i.awaitStatus(t, "stripe:"+id, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	requireConflict(true, n.send(t, body("Eve", 2)))
	requireConflict(false, n.send(t, body("Ada", 1)))

	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM events"))
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM dead_letters WHERE error_class = 'conflict' AND state = 'open'"))
	require.Contains(t, n.metrics(t), `holdfast_event_conflicts_total{provider="stripe"} 2`)
	out, err := i.run(t, "conflict", "list", "--provider", "stripe", "--key", id, "--json")
	require.NoError(t, err, out)
	var page struct{ Items []event.Conflict }
	require.NoError(t, json.Unmarshal([]byte(out), &page), out)
	list := page.Items
	require.Len(t, list, 1)
	require.EqualValues(t, 2, list[0].Times)
	require.Equal(t, first.Events[0].EventID, list[0].Owner)
	require.NotEqual(t, list[0].Fingerprint, list[0].OwnerFingerprint)
	out, err = i.run(t, "event", "show", held.Events[0].EventID)
	require.NoError(t, err, out)
	require.Contains(t, out, first.Events[0].EventID, "the failure names the event that has its key")
}

// An event has died, and another one with its ID arrives:
//   - the other one doesn't run in its place, but becomes a separate dead letter
func TestAConflictDoesNotReplaceADeadEvent(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	n := i.start(t, "serve")
	id := uniqueID("evt")
	n.send(t, fmt.Appendf(nil, `{"id":"%s","type":"a","data":{"object":{"object":"no kind at all","id":"x"}}}`, id))
	i.awaitStatus(t, "stripe:"+id, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
	again := n.send(t, customerUpdated(id, uniqueID("cus"), "Eve", time.Now()))
	require.Equal(t, "accepted", again.state(), string(again.body))
	i.awaitStatus(t, again.Events[0].WorkflowID, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
	whole, _ := again.told(t)
	require.True(t, whole)
	require.Zero(t, i.count(t, "SELECT count(*) FROM events WHERE status = 'processed'"))
	require.Equal(t, 2, i.count(t, "SELECT count(*) FROM dead_letters WHERE state = 'open'"))
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM dead_letters WHERE error_class = 'conflict'"))
}

// The run of an event is open for longer than its dedupe window:
//   - the next event with its key is accepted, waits, and is processed after the first one
func TestAnOpenRunDoesNotSwallowTheNextWindow(t *testing.T) {
	t.Parallel()
	i, send := withBriefWindow(t)
	release := i.lock(t, "entities")
	first := send()
	require.Equal(t, "accepted", first.state(), string(first.body))
	var second answer
	eventually(t, 10*time.Second, "the window is over", func() error {
		second = send()
		if second.status != http.StatusAccepted {
			return errors.New(second.state())
		}
		return nil
	})
	require.Equal(t, "spooled", second.state())
	require.NotEqual(t, first.Events[0].EventID, second.Events[0].EventID)
	release()
	i.awaitDrained(t, 2)
}
