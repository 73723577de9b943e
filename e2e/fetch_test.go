package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
)

// thin has events that only name a thing.
const thin = `
name: thin
extends: stripe
body_limit: 2097152
api:
  host: "{THIN_API_HOST}"
  headers: {authorization: "Bearer {THIN_API_KEY}"}
  rate: {requests: 50, per: 1s}
recover: null
fetch:
  - {types: ["thing.*"], path: "/things/{id}", values: {id: .body.thing}, answer: thing, gone: delete}
  - {types: ["kept.*"], path: "/things/{id}", values: {id: .body.thing}, answer: thing}
  - types: ["owned.*"]
    path: /things/{id}
    values: {id: .body.thing}
    answer: thing
    also: [{name: owner, path: "/owners/{id}", values: {id: .fetched.owner}}]
entities:
  - {kind: thing, scope: provider, fetched: true, id: .body.thing, op: snapshot, state: .fetched}
  - {kind: thing, scope: provider, id: .body.thing, op: patch, state: '{named_by: .body.type}'}
  - {kind: owner, scope: provider, fetched: true, id: .fetched.owner, op: snapshot, state: .also.owner}
`

// things is an API that has a state for each thing, and refuses while refusal is set.
type things struct {
	mu      sync.Mutex
	credits map[string]int
	refusal int
	limited int
	calls   int
}

func (a *things) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls++
	credit, ok := a.credits[strings.TrimPrefix(r.URL.Path, "/things/")]
	switch {
	case a.limited > 0:
		a.limited--
		w.Header().Set("retry-after", "1")
		w.WriteHeader(http.StatusTooManyRequests)
	case a.refusal != 0 || r.Header.Get("authorization") != "Bearer thin-credential-1":
		w.WriteHeader(max(a.refusal, http.StatusUnauthorized))
	case strings.HasPrefix(r.URL.Path, "/owners/"):
		fmt.Fprint(w, `{"name": "Ada"}`)
	case !ok:
		w.WriteHeader(http.StatusNotFound)
	case credit > 100:
		fmt.Fprintf(w, `{"thing": {"credit": %d, "owner": "o1"}}`, credit)
	case credit < 0:
		fmt.Fprint(w, `{"thing": "nothing that an entity could have"}`)
	default:
		fmt.Fprintf(w, `{"thing": {"credit": %d}}`, credit)
	}
}

func (a *things) set(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
}

func (a *things) requests() (n int) {
	a.set(func() { n = a.calls })
	return n
}

// The state of what a thin event names is fetched once:
//   - the entity has the fetched fields; a reset and a rebuild don't call the API again
//   - a 429 is tried again when the provider says
//   - a 404 deletes the entity, or keeps it, as the definition says
//   - a 401 makes a dead letter, and a replay after the fix works
//   - a state that can't be used is fetched again only with --fetch
//   - a large event is fetched, too
//   - what the state names is fetched next, by another activity
//   - a rebuild with --fetch asks the API again for all of them; a state that is refused stays
func TestTheStateBehindAThinEventIsFetched(t *testing.T) {
	t.Parallel()
	api := &things{credits: map[string]int{"t1": 7, "t2": 8, "t3": 9, "big": 10}}
	host, certificate := serveAPI(t, api)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "thin.yaml"), []byte(thin), 0o600))
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir, "THIN_API_HOST="+host, "THIN_API_KEY=thin-credential-1",
		"SSL_CERT_FILE="+certificate, "HOLDFAST_DELIVERIES_ALLOWED_NETWORKS=127.0.0.0/8,::1/128")
	n := i.start(t, "serve")

	send := func(eventType, thing, filler string) (workflowID string) {
		id := uniqueID("evt")
		body, err := json.Marshal(map[string]any{
			"id": id, "type": eventType, "thing": thing, "created": time.Now().Add(-time.Minute).Unix(), "filler": filler,
		})
		require.NoError(t, err)
		a, err := n.post("/webhooks/thin", body, "Stripe-Signature", sign(body, secret, time.Now()))
		require.NoError(t, err)
		require.Equal(t, 202, a.status, string(a.body))
		return "thin:" + id
	}
	state := func(thing string) (text string) {
		i.query(t, "SELECT state::text || CASE WHEN deleted THEN ' deleted' ELSE '' END FROM entities WHERE provider = 'thin' AND external_id = $1",
			[]any{thing}, &text)
		return text
	}
	completed, failed := enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED

	api.set(func() { api.limited = 1 })
	first := send("thing.changed", "t1", "")
	i.awaitStatus(t, first, completed)
	require.JSONEq(t, `{"credit": 7}`, state("t1"))
	require.Equal(t, 2, api.requests(), "the first was limited")
	i.replay(t, "fetched", first)

	api.set(func() { api.credits["t1"] = 70 })
	i.runTool(t, "temporal", "workflow", "reset", "--workflow-id", first, "--type", "FirstWorkflowTask", "--reason", "test")
	i.awaitRuns(t, first, 2)
	i.awaitStatus(t, first, completed)
	again, err := i.rebuild(t, "--yes")
	require.NoError(t, err)
	require.Equal(t, []int64{1, 0}, []int64{again.Read, again.Changed})
	require.JSONEq(t, `{"credit": 7}`, state("t1"))
	require.Equal(t, 2, api.requests(), "it was stored")

	api.set(func() { delete(api.credits, "t1") })
	kept := send("kept.changed", "t1", "")
	i.awaitStatus(t, kept, completed)
	require.JSONEq(t, `{"credit": 7}`, state("t1"), "an older notification of a thing that is gone changes nothing")
	gone := send("thing.changed", "t1", "")
	i.awaitStatus(t, gone, completed)
	require.Equal(t, `{} deleted`, state("t1"))

	api.set(func() { api.refusal = http.StatusForbidden })
	dead := send("thing.changed", "t2", "")
	i.awaitStatus(t, dead, failed)
	var step, class, code, message string
	i.query(t, "SELECT step, error_class, error_code, error_message FROM dead_letters WHERE workflow_id = $1", []any{dead}, &step, &class, &code, &message)
	require.Equal(t, []string{"fetch", "rejected", "fetch_unauthorized"}, []string{step, class, code})
	require.Contains(t, message, "403, the credential is refused: check that THIN_API_HOST, THIN_API_KEY may read this")
	require.NotContains(t, message, "thin-credential-1")
	i.replay(t, "fetch_refused", dead)
	api.set(func() { api.refusal = 0 })
	out, err := i.run(t, "dlq", "replay", dead, "--wait")
	require.NoError(t, err, out)
	require.JSONEq(t, `{"credit": 8}`, state("t2"))

	api.set(func() { api.credits["t3"] = -1 })
	unusable := send("thing.changed", "t3", "")
	i.awaitStatus(t, unusable, failed)
	before := api.requests()
	out, err = i.run(t, "dlq", "replay", unusable, "--wait")
	require.Error(t, err, out)
	require.Equal(t, before, api.requests(), "what was stored is used again")
	api.set(func() { api.credits["t3"] = 9 })
	out, err = i.run(t, "dlq", "replay", unusable, "--wait", "--fetch")
	require.NoError(t, err, out)
	require.JSONEq(t, `{"credit": 9}`, state("t3"))
	require.Equal(t, before+1, api.requests())
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM audit_log WHERE action = 'dead_letter.fetch'"))

	big := send("thing.changed", "big", strings.Repeat("x", 700<<10))
	i.awaitStatus(t, big, completed)
	require.JSONEq(t, `{"credit": 10}`, state("big"))
	i.replay(t, "fetched_large", big)

	api.set(func() { api.credits["t2"], api.credits["big"], api.refusal = 80, 100, http.StatusForbidden })
	again, err = i.rebuild(t, "--provider", "thin", "--fetch", "--yes")
	require.Error(t, err)
	require.Equal(t, again.Read, again.Unreadable)
	require.JSONEq(t, `{"credit": 8}`, state("t2"))
	api.set(func() { api.refusal = 0 })
	before = api.requests()
	again, err = i.rebuild(t, "--provider", "thin", "--fetch", "--yes")
	require.NoError(t, err)
	require.Equal(t, int64(before)+again.Read, int64(api.requests()), "each once")
	require.JSONEq(t, `{"credit": 80}`, state("t2"))
	require.JSONEq(t, `{"credit": 100}`, state("big"))
	require.Equal(t, `{} deleted`, state("t1"))

	api.set(func() { api.credits["t4"] = 101 })
	before = api.requests()
	owned := send("owned.changed", "t4", "")
	i.awaitStatus(t, owned, completed)
	require.JSONEq(t, `{"credit": 101, "owner": "o1"}`, state("t4"))
	require.JSONEq(t, `{"name": "Ada"}`, state("o1"))
	require.Equal(t, before+2, api.requests())
	i.replay(t, "fetched_also", owned)
	require.Zero(t, i.count(t, openDeadLetters))
}
