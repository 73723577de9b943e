package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// operators are tokens of each role, created by the program, and their configuration.
type operators struct {
	tokens  map[string]string
	entries string
}

func newOperators(t *testing.T) operators {
	t.Helper()
	o := operators{tokens: map[string]string{}}
	var entries []string
	for _, role := range []string{"viewer", "operator", "integrator", "admin"} {
		out, err := (&installation{}).run(t, "token", "new", "the-"+role, role)
		require.NoError(t, err, out)
		for line := range strings.SplitSeq(out, "\n") {
			switch line = strings.TrimSpace(line); {
			case strings.HasPrefix(line, "holdfast_"):
				o.tokens[role] = line
			case strings.HasPrefix(line, "the-"):
				entries = append(entries, line)
			}
		}
	}
	o.entries = strings.Join(entries, ",")
	return o
}

// api is the operator API of a node, called with a token.
type api struct {
	url, token string
}

type apiAnswer struct {
	status int
	header http.Header
	body   []byte
	Error  struct{ Code, Message, Detail string }
}

func (a api) do(method, path, body string) (apiAnswer, error) {
	request, err := http.NewRequest(method, a.url+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return apiAnswer{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	if a.token != "" {
		request.Header.Set("Authorization", "Bearer "+a.token)
	}
	response, err := client.Do(request)
	if err != nil {
		return apiAnswer{}, err
	}
	defer response.Body.Close()
	answer := apiAnswer{status: response.StatusCode, header: response.Header}
	if answer.body, err = io.ReadAll(response.Body); err == nil && len(answer.body) > 0 {
		err = json.Unmarshal(answer.body, &answer)
	}
	return answer, err
}

// call asserts the status and decodes the answer. It reads again what a busy machine didn't answer in time, as the error says.
func (a api) call(t *testing.T, method, path, body string, status int, into any) apiAnswer {
	t.Helper()
	answer, err := a.do(method, path, body)
	for range 10 {
		if err != nil || method != http.MethodGet || answer.status != http.StatusServiceUnavailable || status == answer.status {
			break
		}
		time.Sleep(time.Second)
		answer, err = a.do(method, path, body)
	}
	require.NoError(t, err, "%s %s", method, path)
	require.Equal(t, status, answer.status, "%s %s: %s", method, path, answer.body)
	if into != nil {
		require.NoError(t, json.Unmarshal(answer.body, into), "%s", answer.body)
	}
	return answer
}

// stored returns a hash of everything that an operator could change.
func (i *installation) stored(t *testing.T) (hash string) {
	t.Helper()
	i.query(t, `SELECT md5(coalesce((SELECT json_agg(d ORDER BY id) FROM dead_letters d)::text, '')
		|| coalesce((SELECT json_agg(e ORDER BY id) FROM events e)::text, '') || (SELECT count(*) FROM audit_log)
		|| (SELECT count(*) FROM replays))`, nil, &hash)
	return hash
}

// poisonedWith returns an installation with dead letters of poison, whose definition has been corrected since, and its serving
// node.
func poisonedWith(t *testing.T, n int, o operators) (*installation, *node, []string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "homemade.yaml")
	require.NoError(t, os.WriteFile(file, []byte(definitionOf("json")), 0o644))
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir, "HOLDFAST_OPERATOR_TOKENS="+o.entries)
	first := i.start(t, "serve")
	var workflows []string
	for range n {
		id := uniqueID("msg")
		require.Equal(t, 202, first.sendStandard(t, "/webhooks/homemade", id, []byte(poison)).status)
		workflows = append(workflows, "homemade:"+id)
	}
	i.awaitCount(t, time.Minute, n, openDeadLetters)
	for _, id := range workflows {
		i.awaitStatus(t, id, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
	}
	first.terminate(t)
	require.NoError(t, os.WriteFile(file, []byte(definitionOf("text")), 0o644))
	second := i.start(t, "serve")
	return i, second, workflows
}

// Unauthorized requests:
//   - no token, a viewer's, a wrong one: none changes anything or leaves anything behind
//   - wrong ones are slowed down by address, and right ones aren't
func TestWhoMayNotChangesNothing(t *testing.T) {
	t.Parallel()
	o := newOperators(t)
	i, n, _ := poisonedWith(t, 1, o)
	id := i.count(t, "SELECT id FROM dead_letters")
	before := i.stored(t)
	path := fmt.Sprintf("/dead-letters/%d", id)
	changes := []struct{ method, path, body string }{
		{"POST", path + "/replay", ""},
		{"POST", path + "/edit", `{"body":"{}"}`},
		{"POST", path + "/discard", `{"reason":"x"}`},
		{"DELETE", path, ""},
		{"POST", "/dead-letters/cleanup", `{"older_than":"1ns"}`},
		{"POST", "/replays", `{}`},
		{"POST", "/replays/x/pause", ""},
	}
	for _, c := range changes {
		for token, status := range map[string]int{"": 401, o.tokens["viewer"]: 403} {
			api{n.operator, token}.call(t, c.method, c.path, c.body, status, nil)
		}
	}
	api{n.operator, o.tokens["operator"]}.call(t, "DELETE", path, "", 403, nil)
	for range 10 {
		api{n.operator, o.tokens["admin"] + "x"}.call(t, "POST", path+"/replay", "", 401, nil)
	}
	locked := api{n.operator, o.tokens["admin"] + "x"}.call(t, "POST", path+"/replay", "", 429, nil)
	require.NotEmpty(t, locked.header.Get("Retry-After"))
	api{n.operator, o.tokens["viewer"]}.call(t, "GET", path, "", 200, nil)
	require.Equal(t, before, i.stored(t))
	require.Zero(t, i.count(t, processedEvents))
	for _, token := range o.tokens {
		require.NotContains(t, n.log.String(), token)
	}
	require.Contains(t, n.metrics(t), "holdfast_", "the metrics are open")
}

// Fifty concurrent replays of one dead letter:
//   - one starts a run, the others are refused, and there is one audit entry
//   - a resolved one isn't replayed again
func TestFiftyReplaysByTheAPIAreOneRun(t *testing.T) {
	t.Parallel()
	o := newOperators(t)
	i, n, workflows := poisonedWith(t, 1, o)
	path := fmt.Sprintf("/dead-letters/%d/replay", i.count(t, "SELECT id FROM dead_letters"))
	operator := api{n.operator, o.tokens["operator"]}

	var started, refused atomic.Int32
	var unexpected sync.Map
	var all sync.WaitGroup
	gate := make(chan struct{})
	for k := range 50 {
		all.Go(func() {
			<-gate
			switch answer, err := operator.do("POST", path, `{"reason":"the definition was wrong"}`); {
			case err != nil:
				unexpected.Store(k, err)
			case answer.status == 202:
				started.Add(1)
			case answer.status == 409 && answer.Error.Code == "wrong_state":
				refused.Add(1)
			default:
				unexpected.Store(k, string(answer.body))
			}
		})
	}
	close(gate)
	all.Wait()
	unexpected.Range(func(_, what any) bool { require.Fail(t, "unexpected answer", "%v", what); return false })
	require.EqualValues(t, 1, started.Load())
	require.EqualValues(t, 49, refused.Load())
	i.assertRescued(t, workflows[0])
	i.awaitRuns(t, workflows[0], 2)
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM audit_log WHERE action = 'dead_letter.replay'"))

	again := operator.call(t, "POST", path, "", 409, nil)
	require.Equal(t, "wrong_state", again.Error.Code)
	require.Contains(t, again.Error.Detail, "resolved")

	out, err := i.run(t, "audit", "list")
	require.NoError(t, err, out)
	for _, want := range []string{"the-operator", "dead_letter.replay", "the definition was wrong"} {
		require.Contains(t, out, want)
	}
}

// awaitRuns waits until a workflow has had that many runs.
func (i *installation) awaitRuns(t *testing.T, workflowID string, want int64) {
	t.Helper()
	c := i.dial(t)
	eventually(t, 30*time.Second, fmt.Sprintf("%d runs of %s are on record", want, workflowID), func() error {
		found, err := c.CountWorkflow(context.Background(), &workflowservice.CountWorkflowExecutionsRequest{
			Query: fmt.Sprintf("WorkflowId = %q", workflowID),
		})
		if err == nil && found.GetCount() != want {
			err = fmt.Errorf("there are %d", found.GetCount())
		}
		return err
	})
}

// An edit instead of a replay:
//   - the edited event runs under {id}:r1 and is processed; the original is kept, and each names the other
//   - the original can be neither replayed nor edited again
//   - the same by the command line
func TestAnEditedEventRunsInstead(t *testing.T) {
	t.Parallel()
	o := newOperators(t)
	i, n, workflows := poisonedWith(t, 2, o)
	operator := api{n.operator, o.tokens["operator"]}
	var ids [2]int
	for k, workflow := range workflows {
		ids[k] = i.count(t, "SELECT id FROM dead_letters WHERE workflow_id = $1", workflow)
	}
	var replayed struct {
		DeadLetter int    `json:"dead_letter_id"`
		EventID    string `json:"event_id"`
		Run        struct {
			WorkflowID string `json:"workflow_id"`
		}
	}
	path := fmt.Sprintf("/dead-letters/%d", ids[0])
	operator.call(t, "POST", path+"/edit", `{"body":"{\"fixed\": true}","reason":"typo"}`, 202, &replayed)
	require.Equal(t, workflows[0]+":r1", replayed.Run.WorkflowID)
	i.awaitStatus(t, workflows[0]+":r1", enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	i.awaitCount(t, 10*time.Second, 1, processedEvents)

	var original, edited struct {
		State      string
		EventID    string `json:"event_id"`
		ReplacedBy string `json:"replaced_by"`
		Replaces   string
		Body       struct{ Raw []byte }
	}
	operator.call(t, "GET", path, "", 200, &original)
	operator.call(t, "GET", fmt.Sprintf("/dead-letters/%d", replayed.DeadLetter), "", 200, &edited)
	require.Equal(t, []string{"discarded", replayed.EventID, poison},
		[]string{original.State, original.ReplacedBy, string(original.Body.Raw)})
	require.Equal(t, []string{"resolved", original.EventID, `{"fixed": true}`},
		[]string{edited.State, edited.Replaces, string(edited.Body.Raw)})
	for _, verb := range []string{"/replay", "/edit"} {
		refused := operator.call(t, "POST", path+verb, map[string]string{"/edit": `{"body":"x"}`}[verb], 409, nil)
		require.Contains(t, refused.Error.Detail, "replaced by event "+replayed.EventID)
	}
	var event struct {
		Replaces string
		Body     struct{ Raw string }
	}
	operator.call(t, "GET", "/events/"+replayed.EventID, "", 200, &event)
	require.Equal(t, original.EventID, event.Replaces)
	require.Equal(t, base64.StdEncoding.EncodeToString([]byte(`{"fixed": true}`)), event.Body.Raw)

	file := filepath.Join(t.TempDir(), "body")
	require.NoError(t, os.WriteFile(file, []byte("by hand"), 0o600))
	out, err := i.run(t, "dlq", "edit", fmt.Sprint(ids[1]), "--file", file, "--reason", "typo", "--wait")
	require.NoError(t, err, out)
	require.Contains(t, out, workflows[1]+":r1")
	require.Contains(t, out, "processed")
	require.Equal(t, 2, i.count(t, "SELECT count(*) FROM audit_log WHERE action = 'dead_letter.edit'"))
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM audit_log WHERE actor LIKE 'cli:%' AND reason = 'typo'"))
	require.Zero(t, i.count(t, openDeadLetters))
}

// Temporal is down:
//   - a replay is answered with 503, and its dead letter is unchanged
//   - an edit is kept, as an open dead letter
//   - lists, entities and statistics work
func TestOperatorsWorkWhileTemporalIsDown(t *testing.T) {
	t.Parallel()
	o := newOperators(t)
	i, n, _ := poisonedWith(t, 1, o)
	n.terminate(t)
	alone := i.start(t, "operator", "TEMPORAL_ADDRESS="+freePorts(t, 1)[0])
	admin := api{alone.operator, o.tokens["admin"]}
	path := fmt.Sprintf("/dead-letters/%d", i.count(t, "SELECT id FROM dead_letters"))

	down := admin.call(t, "POST", path+"/replay", "", 503, nil)
	require.Equal(t, "unavailable", down.Error.Code)
	require.NotEmpty(t, down.header.Get("Retry-After"))
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM dead_letters WHERE state = 'open'"))
	var replayed struct {
		DeadLetter int `json:"dead_letter_id"`
		Run        struct {
			RunID string `json:"run_id"`
		}
	}
	admin.call(t, "POST", path+"/edit", `{"body":"{}"}`, 202, &replayed)
	require.Empty(t, replayed.Run.RunID)
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM dead_letters WHERE state = 'open' AND id = $1", replayed.DeadLetter))
	admin.call(t, "GET", "/dead-letters", "", 200, nil)
	admin.call(t, "GET", "/stats", "", 200, nil)

	i.start(t, "serve")
	out, err := i.run(t, "dlq", "replay", fmt.Sprint(replayed.DeadLetter), "--wait")
	require.NoError(t, err, out)
}

// The life of an unneeded dead letter: discarded with a reason, cleaned up by age, deleted; by API and command line.
func TestDeadLettersAreDiscardedAndRemoved(t *testing.T) {
	t.Parallel()
	o := newOperators(t)
	i, n, workflows := poisonedWith(t, 3, o)
	admin := api{n.operator, o.tokens["admin"]}
	var ids []string
	for _, workflow := range workflows {
		ids = append(ids, fmt.Sprint(i.count(t, "SELECT id FROM dead_letters WHERE workflow_id = $1", workflow)))
	}
	require.Equal(t, "wrong_state", admin.call(t, "DELETE", "/dead-letters/"+ids[0], "", 409, nil).Error.Code)
	admin.call(t, "POST", "/dead-letters/"+ids[0]+"/discard", `{"reason":"a test of the sender"}`, 200, nil)
	admin.call(t, "POST", "/dead-letters/"+ids[0]+"/replay", "", 409, nil)
	admin.call(t, "DELETE", "/dead-letters/"+ids[0], "", 204, nil)
	admin.call(t, "GET", "/dead-letters/"+ids[0], "", 404, nil)

	out, err := i.run(t, "dlq", "discard", ids[1])
	require.Error(t, err)
	require.Contains(t, out, "reason")
	out, err = i.run(t, "dlq", "discard", ids[1], "--reason", "another test")
	require.NoError(t, err, out)
	out, err = i.run(t, "dlq", "show", ids[1])
	require.NoError(t, err, out)
	require.Contains(t, out, "another test")
	var removed struct {
		Removed int
		More    bool
	}
	admin.call(t, "POST", "/dead-letters/cleanup", `{"older_than":"1h"}`, 200, &removed)
	require.Zero(t, removed.Removed, "it was discarded a moment ago")
	out, err = i.run(t, "dlq", "cleanup", "--older-than", "0s")
	require.NoError(t, err, out)
	require.Contains(t, out, "removed 1 ")
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM dead_letters"), "the open one stays")
	require.Equal(t, 5, i.count(t, "SELECT count(*) FROM audit_log"))
}

// How operators find events and entities.
func TestOperatorsFindEventsAndEntities(t *testing.T) {
	t.Parallel()
	o := newOperators(t)
	i := newInstallation(t, "HOLDFAST_OPERATOR_TOKENS="+o.entries)
	n := i.start(t, "serve")
	customer := uniqueID("cus")
	now := time.Now().Truncate(time.Second)
	const events = 5
	var ids []string
	for age := range events { // newest first
		id := uniqueID("evt")
		a := n.send(t, customerUpdated(id, customer, fmt.Sprintf("name %d", age), now.Add(-time.Duration(age)*time.Hour)))
		require.Equal(t, 202, a.status)
		ids = append(ids, a.Events[0].EventID)
	}
	i.awaitCount(t, 30*time.Second, events, processedEvents)
	viewer := api{n.operator, o.tokens["viewer"]}

	type list struct {
		Items []struct{ ID string }
		Next  string
	}
	var got []string
	for query := "/events?limit=2&provider=stripe&entity_kind=customer&entity_id=" + customer; ; {
		var page list
		viewer.call(t, "GET", query, "", 200, &page)
		for _, e := range page.Items {
			got = append(got, e.ID)
		}
		if page.Next == "" {
			break
		}
		// New events don't change the pages.
		require.Equal(t, 202, n.send(t, customerUpdated(uniqueID("evt"), uniqueID("cus"), "Bob", now)).status)
		query = "/events?limit=2&provider=stripe&entity_kind=customer&entity_id=" + customer + "&cursor=" + page.Next
	}
	require.ElementsMatch(t, ids, got)
	for query, want := range map[string]int{
		"type=customer.updated&until=24h": 0, "status=dead": 0, "key=" + strings.Repeat("x", 300): 0,
		"provider=stripe&since=24h&status=processed&type=customer.updated&entity_kind=customer&entity_id=" + customer: events,
	} {
		var page list
		viewer.call(t, "GET", "/events?"+query, "", 200, &page)
		require.Len(t, page.Items, want, query)
	}

	var entity struct {
		State struct{ Name string }
	}
	path := "/entities/stripe/customer/" + customer
	operator := api{n.operator, o.tokens["operator"]}
	operator.call(t, "GET", path, "", 200, &entity)
	require.Equal(t, "name 0", entity.State.Name)
	operator.call(t, "GET", path+"?as_of="+now.Add(-150*time.Minute).UTC().Format(time.RFC3339), "", 200, &entity)
	require.Equal(t, "name 3", entity.State.Name)
	operator.call(t, "GET", path+"?as_of=100h", "", 404, nil)
	var timeline list
	operator.call(t, "GET", path+"/timeline?limit=3", "", 200, &timeline)
	require.Len(t, timeline.Items, 3)
	require.NotEmpty(t, timeline.Next)

	var stats struct {
		Events []struct{ Count int }
		Queues []struct{ Queue string }
	}
	viewer.call(t, "GET", "/stats?window=5m", "", 200, &stats)
	require.NotEmpty(t, stats.Events)
	require.NotEmpty(t, stats.Queues)
	viewer.call(t, "GET", "/errors?limit=5", "", 200, nil)
	viewer.call(t, "POST", "/replays/plan", `{"provider":"stripe"}`, 200, nil)

	out, err := i.run(t, "entity", "show", "stripe", "customer", customer, "--as-of", "150m")
	require.NoError(t, err, out)
	require.Contains(t, out, "name 3")
	require.NotContains(t, out, "name 2")
	out, err = i.run(t, "event", "list", "--provider", "stripe", "--entity", "customer/"+customer, "--since", "1h")
	require.NoError(t, err, out)
	require.Equal(t, events, strings.Count(out, "stripe:evt_"), out)
}

// Without tokens the API is available only on this machine.
func TestAnAPIWithoutTokensStaysOnLoopback(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	n := i.start(t, "operator")
	require.Contains(t, n.log.String(), "operator.open")
	api{url: n.operator}.call(t, "GET", "/events", "", 200, nil)

	out, err := i.runWith(t, []string{"HOLDFAST_OPERATOR_ADDR=0.0.0.0:0"}, "operator")
	require.Error(t, err)
	require.Contains(t, out, "HOLDFAST_OPERATOR_TOKENS")
	out, err = i.runWith(t, []string{"HOLDFAST_OPERATOR_TOKENS=ada:admin:CANARY"}, "operator")
	require.Error(t, err)
	require.Contains(t, out, "HOLDFAST_OPERATOR_TOKENS: read operator token 1", out)
	require.NotContains(t, out, "CANARY")
}
