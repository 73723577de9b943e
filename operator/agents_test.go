package operator_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/operator"
	"holdfast/operator/access"
	"holdfast/operator/api"
)

// agent calls tools at /mcp.
type agent struct {
	t          *testing.T
	url, token string
}

// use calls a tool, and returns the text of its result and whether it is an error.
func (a agent) use(tool string, arguments map[string]any) (text string, failed bool) {
	a.t.Helper()
	message, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": arguments},
	})
	require.NoError(a.t, err)
	r := ask(a.t, "POST", a.url+"/mcp", string(message), bearer(a.token)...)
	require.Equal(a.t, 200, r.status, "%s", r.body)
	var answer struct {
		Result struct {
			Content []struct{ Text string }
			IsError bool
		}
	}
	require.NoError(a.t, json.Unmarshal(r.body, &answer))
	require.Len(a.t, answer.Result.Content, 1, "%s", r.body)
	return answer.Result.Content[0].Text, answer.Result.IsError
}

// must returns the result of a tool that works.
func (a agent) must(tool string, arguments map[string]any) (result map[string]any) {
	a.t.Helper()
	text, failed := a.use(tool, arguments)
	require.False(a.t, failed, text)
	require.NoError(a.t, json.Unmarshal([]byte(text), &result))
	return result
}

func newAgent(t *testing.T, role access.Role, of *api.API) agent {
	t.Helper()
	tokens, texts := crowd(t)
	_, url := serve(t, operator.Options{API: of, Tokens: tokens})
	return agent{t, url, texts[role]}
}

// A request ends whatever is in it, since each one that lasts keeps one of the server's connections:
//   - a client that wants to know when tools change, which they never do
//   - a batch with an ID twice, or with a call and its cancellation
//   - a stream for messages of the server, which has none: clients expect 405
func TestNoRequestOfAnAgentLasts(t *testing.T) {
	t.Parallel()
	a := newAgent(t, access.RoleViewer, (&stub{}).api())
	require.Equal(t, 405, ask(t, "GET", a.url+"/mcp", "", bearer(a.token)...).status)
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"overview","arguments":{}}}`
	for name, c := range map[string]struct {
		message string
		headers []string
	}{
		"a subscription": {
			`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{` + meta + `,"notifications":{"toolsListChanged":true}}}`,
			[]string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen"},
		},
		"an ID twice":    {"[" + call + "," + call + "]", nil},
		"a cancellation": {"[" + call + `,{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}]`, nil},
		"a response":     {`{"jsonrpc":"2.0","id":1,"result":{}}`, nil},
		"no parameters":  {`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, nil},
		"null":           {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":null}`, nil},
		"no arguments":   {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"dead_letters"}}`, nil},
		"a handshake":    {`{"jsonrpc":"2.0","id":1,"method":"initialize","params":null}`, nil},
		"a half":         {`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientInfo":7}}`, nil},
		"levels":         {`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"x"}}`, nil},
		"a completion":   {`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{}}`, nil},
		"many batches":   {"[" + strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/initialized"},`, 500) + call + "]", nil},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		r, err := http.NewRequestWithContext(ctx, "POST", a.url+"/mcp", strings.NewReader(c.message))
		require.NoError(t, err)
		headers := append(bearer(a.token), c.headers...)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		response, err := http.DefaultClient.Do(r)
		require.NoError(t, err, name)
		_, err = io.Copy(io.Discard, response.Body)
		require.NoError(t, err, name)
		require.NoError(t, response.Body.Close())
		cancel()
	}
}

// refusing refuses replays since a run is open.
type refusing struct{ *stub }

func (refusing) Replay(context.Context, int64, oversight.Actor) (operation.Replayed, error) {
	return operation.Replayed{}, &operation.RunExistsError{Run: event.Run{WorkflowID: "acme:evt_1", RunID: "r1"}, Open: true}
}

// The key of an event is its sender's text, also where it is part of the workflow's ID:
//   - results have it in from_sender only, and errors don't have it
func TestAgentsReadTextsOfSendersInOnePlaceOnly(t *testing.T) {
	t.Parallel()
	of := (&stub{}).api()
	of.SingleReplays = refusing{&stub{}}
	of.WorkflowURL = func(run event.Run) string { return api.WorkflowURL("https://temporal.example", "default", run) }
	a := newAgent(t, access.RoleOperator, of)
	plan := a.must("plan_replay", map[string]any{"dead_letter": "7"})
	for tool, result := range map[string]map[string]any{
		"event":          a.must("event", map[string]any{"event": someID}),
		"dead_letter":    a.must("dead_letter", map[string]any{"dead_letter": "7"}),
		"try_definition": a.must("try_definition", map[string]any{"dead_letter": "7"}),
		"plan_replay":    plan["with_the_definition_in_use"].(map[string]any),
	} {
		delete(result, "from_sender")
		for _, one := range append([]any{}, anySlice(result["dead_letters"])...) {
			delete(one.(map[string]any), "from_sender")
		}
		text, err := json.Marshal(result)
		require.NoError(t, err)
		require.NotContains(t, string(text), "evt_1", tool)
	}
	why, failed := a.use("replay", map[string]any{"dead_letter": "7", "plan": plan["plan"], "reason": "x"})
	require.True(t, failed)
	require.Contains(t, why, "is open")
	require.NotContains(t, why, "evt_1")
}

func anySlice(v any) []any {
	all, _ := v.([]any)
	return all
}

// growing has dead letters that a replay finds and its plan didn't.
type growing struct {
	stubReplays

	total   int64
	running *[]operation.Replay
}

func (g growing) Plan(context.Context, operation.ReplayFilter, int) (operation.ReplayPlan, error) {
	return operation.ReplayPlan{Count: 3}, nil
}

func (g growing) Start(_ context.Context, r operation.Replay, _ oversight.Actor) (operation.Replay, error) {
	r.Total = g.total
	*g.running = append(*g.running, r)
	return r, nil
}

func (g growing) Latest(context.Context, int) ([]operation.Replay, error) { return *g.running, nil }

// A plan of a redrive names one provider, since its definition is part of it, and is carried out once:
//   - what has come between the count and the start is named in the result
func TestARedriveIsThatOfItsPlan(t *testing.T) {
	t.Parallel()
	behind := &stub{}
	of := behind.api()
	of.Replays = growing{behind.replays(), 4, &[]operation.Replay{}}
	a := newAgent(t, access.RoleOperator, of)
	why, failed := a.use("plan_redrive", map[string]any{"code": "jq_null"})
	require.True(t, failed)
	require.Contains(t, why, "provider is missing")
	plan := a.must("plan_redrive", map[string]any{"provider": "acme"})
	wanted := map[string]any{
		"provider": "acme", "plan": plan["plan"], "until": plan["until"], "count": plan["count"], "reason": "x",
	}
	started := a.must("redrive", wanted)
	require.EqualValues(t, 4, started["total"])
	require.Contains(t, started["note"], "the plan named 3")
	why, failed = a.use("redrive", wanted)
	require.True(t, failed)
	require.Contains(t, why, "was carried out")
	require.Contains(t, why, started["operation"])
}

// Results are short enough to read for a model:
//   - large states of entities are left out, and counted
//   - a definition of any size that Holdfast loads can be tried
func TestAgentsGetShortResults(t *testing.T) {
	t.Parallel()
	a := newAgent(t, access.RoleOperator, (&stub{}).api())
	const many = `name: acme
auth:
  - token: {secrets: ACME_TOKEN, in: header, name: x-acme-token}
type: '"card"'
key: {parts: [.body.card]}
entities:
  - {kind: card, id: .body.card, op: patch, state: '{all: ([range(20000)])}'}
`
	definition := many + "#" + strings.Repeat("x", 500_000)
	text, failed := a.use("try_definition", map[string]any{"dead_letter": "7", "definition": definition})
	require.False(t, failed, text)
	require.Contains(t, text, `"parse_succeeds":true`)
	require.Less(t, len(text), 40_000)
	require.Contains(t, text, `"entities_left_out":1`)
	text, failed = a.use("try_definition", map[string]any{"dead_letter": "7", "definition": strings.Split(many, "entities:")[0]})
	require.False(t, failed, text)
	require.NotContains(t, text, `"rules"`, "there are none")
}

// slow replays until it is released.
type slow struct {
	*stub

	entered, release chan struct{}
}

func (s slow) Replay(ctx context.Context, id int64, by oversight.Actor) (operation.Replayed, error) {
	close(s.entered)
	<-s.release
	return s.stub.Replay(ctx, id, by)
}

// A shutdown begins while an agent's replay is starting:
//   - the server waits for it, and the agent learns that it was started
func TestAnAgentLearnsOfItsReplayDuringAShutdown(t *testing.T) {
	t.Parallel()
	behind := slow{&stub{}, make(chan struct{}), make(chan struct{})}
	of := behind.api()
	of.SingleReplays = behind
	tokens, texts := crowd(t)
	server, url := serve(t, operator.Options{API: of, Tokens: tokens})
	a := agent{t, url, texts[access.RoleOperator]}
	plan := a.must("plan_replay", map[string]any{"dead_letter": "7"})
	stopped := make(chan error, 1)
	go func() {
		<-behind.entered
		time.AfterFunc(time.Second, func() { close(behind.release) })
		stopped <- server.Shutdown(context.WithoutCancel(t.Context()))
	}()
	text, failed := a.use("replay", map[string]any{"dead_letter": "7", "plan": plan["plan"], "reason": "x"})
	require.False(t, failed, text)
	require.Contains(t, text, someID)
	select {
	case err := <-stopped:
		require.NoError(t, err)
	case <-time.After(20 * time.Second):
		require.Fail(t, "the server doesn't stop")
	}
}

// A login of the console can't use tools, whose requests would show no token: the request itself is refused, and says what to do.
func TestASessionUsesNoTools(t *testing.T) {
	t.Parallel()
	tokens, _ := crowd(t)
	secret, session, ok := tokens.Open("the-viewer", time.Now().Add(time.Hour))
	require.True(t, ok)
	_, url := serve(t, operator.Options{API: (&stub{}).api(), Tokens: tokens, Sessions: oneSession{session}})
	r := ask(t, "POST", url+"/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		"Cookie", "holdfast_session="+secret, "X-Csrf-Token", access.CSRFToken(secret))
	require.Equal(t, 401, r.status, "%s", r.body)
	require.Equal(t, "Bearer", r.header.Get("Www-Authenticate"))
	require.Contains(t, string(r.body), "Show a token")
	require.Contains(t, string(r.body), "login")
}
