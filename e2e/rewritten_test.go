package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"holdfast/event"
)

// An event arrives again, and something has rewritten its JSON:
//   - it is a duplicate, and the answer, the metric, the API and the command line say that its bytes differ
//   - a failed event runs again with the bytes in which it first came
//   - another value, or one in doubt, is a conflict
func TestARewrittenBodyIsADuplicate(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	n := i.start(t, "serve")
	id := uniqueID("evt")
	body := fmt.Sprintf(`{"id":"%s","object":"event","type":"customer.updated","created":1700000000,`+
		`"data":{"object":{"id":"cus_1","object":"customer","name":"Zoë","balance":1}}}`, id)
	first := n.send(t, []byte(body))
	require.Equal(t, "accepted", first.state())
	i.awaitStatus(t, "stripe:"+id, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	rewritten := []string{
		strings.ReplaceAll(body, ",", " ,\n"), strings.Replace(body, "Zoë", `Zo\u00eb`, 1), strings.Replace(body, `"balance":1`, `"balance":1.0`, 1),
		strings.Replace(body, `"id":"cus_1","object":"customer"`, `"object":"customer","id":"cus_1"`, 1),
	}
	for _, other := range rewritten {
		again := n.send(t, []byte(other))
		require.True(t, again.Duplicate, string(again.body))
		require.True(t, again.Events[0].Rewritten, string(again.body))
		require.Equal(t, first.Events[0].EventID, again.Events[0].EventID)
		conflict, _ := again.told(t)
		require.False(t, conflict)
	}
	require.False(t, n.send(t, []byte(body)).Events[0].Rewritten)
	i.awaitCount(t, time.Minute, 5, "SELECT coalesce(sum(times), 0) FROM event_duplicates")
	require.Equal(t, 4, i.count(t, "SELECT sum(rewritten) FROM event_duplicates"))
	require.Contains(t, n.metrics(t), `holdfast_rewritten_duplicates_total{provider="stripe"} 4`)
	out, err := i.run(t, "event", "show", first.Events[0].EventID)
	require.NoError(t, err, out)
	require.Contains(t, out, "4 with other bytes, the same JSON value")
	out, err = i.run(t, "event", "show", first.Events[0].EventID, "--json")
	require.NoError(t, err, out)
	var shown struct{ Duplicates event.Duplicates }
	require.NoError(t, json.Unmarshal([]byte(out), &shown))
	require.EqualValues(t, 4, shown.Duplicates.Rewritten)
	require.Zero(t, i.count(t, "SELECT count(*) FROM conflicts")+i.count(t, "SELECT count(*) FROM dead_letters"))

	for _, other := range []string{
		strings.Replace(body, `"balance":1`, `"balance":1.00000000000000000001`, 1), strings.Replace(body, `"balance":1`, `"balance":1,"balance":1`, 1),
	} {
		conflict, _ := n.send(t, []byte(other)).told(t)
		require.True(t, conflict)
	}
}

// A failed event arrives again, rewritten: it runs again with the bytes in which it first came.
func TestARewrittenBodyRunsAFailedEventAgain(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	n := i.start(t, "serve")
	id := uniqueID("evt")
	body := fmt.Sprintf(`{"id":%q,"type":"a","data":{"object":{"object":"no kind at all","id":"x"}}}`, id)
	first := n.send(t, []byte(body))
	i.awaitStatus(t, "stripe:"+id, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
	again := n.send(t, []byte(" "+body))
	require.Equal(t, "accepted", again.state(), string(again.body))
	require.Equal(t, first.Events[0].EventID, again.Events[0].EventID)
	require.True(t, again.Events[0].Rewritten)
	i.awaitCount(t, time.Minute, 1, "SELECT count(*) FROM dead_letters WHERE failures = 2")
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM dead_letters WHERE raw_body = $1", []byte(body)))
}

// Temporal has forgotten the first event, or can't hold it because it is large, so that the ingress can't compare the bodies:
//   - the step that stores the event does, and it is a duplicate and no dead letter
//   - another value is still a conflict
func TestARewrittenBodyIsComparedWithTheStoredOne(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	n := i.start(t, "serve")
	for _, size := range []int{0, 2 << 20} {
		id := uniqueID("evt")
		body := fmt.Sprintf(`{"id":"%s","object":"event","type":"customer.updated","created":1700000000,"pad":"%s",`+
			`"data":{"object":{"id":"cus_1","object":"customer","name":"Zoë","balance":1}}}`, id, strings.Repeat("x", size))
		first := n.send(t, []byte(body))
		i.awaitStatus(t, "stripe:"+id, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
		if size == 0 {
			i.forget(t, "stripe:"+id, "Completed")
		}
		again := n.send(t, []byte(strings.Replace(body, `"balance":1`, `"balance" : 1.00`, 1)))
		require.Equal(t, "accepted", again.state(), string(again.body))
		i.awaitStatus(t, again.Events[0].WorkflowID, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
		i.awaitCount(t, time.Minute, 1, "SELECT coalesce(sum(rewritten), 0) FROM event_duplicates WHERE event_id = $1", first.Events[0].EventID)
		require.Zero(t, i.count(t, "SELECT count(*) FROM dead_letters"))

		other := n.send(t, []byte(strings.Replace(body, `"balance":1`, `"balance":2`, 1)))
		i.awaitStatus(t, other.Events[0].WorkflowID, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
		require.Equal(t, 1, i.count(t, "SELECT count(*) FROM dead_letters WHERE error_code = 'key_conflict'"))
		out, err := i.run(t, "dlq", "replay", fmt.Sprint(i.count(t, "SELECT max(id) FROM dead_letters")))
		require.NoError(t, err, out)
		i.awaitCount(t, time.Minute, 0, "SELECT count(*) FROM dead_letters WHERE state <> 'resolved'")
		i.awaitCount(t, time.Minute, 2, "SELECT count(*) FROM events WHERE octet_length(raw_body) BETWEEN $1 AND $1 + 1000 AND status = 'processed'", size)
		i.exec(t, "DELETE FROM dead_letters")
	}
}
