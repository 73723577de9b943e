package operator_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/operator"
	"holdfast/operator/access"
)

// concrete fills in the parameters of a route.
var concrete = strings.NewReplacer(
	":provider", "acme", ":kind", "thing", ":external_id", "1", ":name", "crm", ":subscription", "customers", ":text", "evt_1",
)

func target(method, path string) string {
	id := "7"
	if strings.HasPrefix(path, "/events") || strings.HasPrefix(path, "/deliveries") || strings.HasPrefix(path, "/inbox") {
		id = someID
	}
	if path == "/compare/events" {
		path += "?provider=acme&since=2h&until=1h"
	}
	return concrete.Replace(strings.ReplaceAll(path, ":id", id))
}

// sample returns a body that the route accepts.
func sample(path string) string {
	switch {
	case strings.HasSuffix(path, "/discard"), strings.HasSuffix(path, "/expunge"):
		return `{"reason":"because"}`
	case strings.HasSuffix(path, "/edit"):
		return `{"body":"{}"}`
	case strings.HasSuffix(path, "/cleanup"):
		return `{"older_than":"720h"}`
	case strings.HasPrefix(path, "/resends"):
		if strings.Contains(path, ":id") {
			return ""
		}
		return `{"subscription":"customers","since":"2026-11-21T09:00:00Z"}`
	case strings.HasSuffix(path, "/lines"), path == "/imports/plan", path == "/compare":
		return `{"record":"key","provider":"stripe","key":"evt_1","first_seen":1763620000,"expires_at":"2990-01-01T00:00:00Z"}`
	case path == "/imports":
		return `{"id":"7"}`
	case path == "/deliveries/cancel":
		return `{"destination":"crm"}`
	case path == "/destinations":
		return `{"name":"new","http":{"url":"https://new.example.com"}}`
	case path == "/subscriptions":
		return `{"name":"new","to":"crm","events":{"types":["a"]}}`
	case path == "/destinations/:name", path == "/subscriptions/:name":
		return `{"reason":"because"}`
	case path == "/subscriptions/apply":
		return `{"subscriptions":{"new":{"to":"crm"}}}`
	case path == "/event-types/apply":
		return `{"event_types":{"order.paid":{"versions":{"1":{"schema":{"type":"object"}}}}}}`
	case strings.HasSuffix(path, "/try"):
		return `{"event_id":"` + someID + `"}`
	case path == "/mcp":
		return `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	case path == "/reconcile":
		return `{"since":"3h"}`
	case path == "/recoveries":
		return `{"provider":"stripe"}`
	case strings.HasSuffix(path, "/replays"), strings.HasSuffix(path, "/rebuilds"):
		return `{"all":true}`
	default:
		return ""
	}
}

// Every registered route is in the access table and requires the role listed there:
//   - no token, a wrong token or a lesser role is refused
//   - the role itself and every greater one are admitted
func TestEveryRouteAsksForItsRole(t *testing.T) {
	t.Parallel()
	tokens, texts := crowd(t)
	behind := &stub{noSuch: "new", idleConnections: someWaiting()}
	metrics := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	server, url := serve(t, operator.Options{API: behind.api(), Refusals: refusals{}, Tokens: tokens, Metrics: metrics, MetricsJSON: metrics, MetricsHistory: metrics})

	var seen []string
	for _, route := range server.Registered() {
		name := route.Method + " " + route.Path
		needed := access.Needs(route.Method, route.Path)
		require.NotEmpty(t, needed, "%s is not in the access table", name)
		seen = append(seen, name)
		address, content := url+target(route.Method, route.Path), sample(route.Path)
		if needed == "anyone" {
			require.Equal(t, 200, ask(t, route.Method, address, content).status, name)
			continue
		}
		before := len(behind.called())
		r := ask(t, route.Method, address, content)
		require.Equal(t, "401 unauthenticated Bearer",
			fmt.Sprint(r.status, " ", r.Error.Code, " ", r.header.Get("WWW-Authenticate")), name)
		for _, role := range access.Roles() {
			mayCall := slices.Index(access.Roles(), role) >= slices.Index(access.Roles(), needed)
			if !mayCall {
				r := ask(t, route.Method, address, content, bearer(texts[role])...)
				require.Equal(t, "403 forbidden", fmt.Sprint(r.status, " ", r.Error.Code), "%s as %s", name, role)
			}
		}
		require.Len(t, behind.called(), before, "%s was let through", name)
		for _, role := range access.Roles()[slices.Index(access.Roles(), needed):] {
			r := ask(t, route.Method, address, content, bearer(texts[role])...)
			require.Less(t, r.status, 300, "%s as %s: %s", name, role, r.body)
		}
	}
	guarded := slices.DeleteFunc(slices.Collect(maps.Keys(access.Routes())), func(name string) bool {
		return strings.Contains(name, " /console") // tested in package console
	})
	require.ElementsMatch(t, guarded, seen, "the table and the routes are the same")
}

func TestRoutesOutsideTheTableAreRefused(t *testing.T) {
	t.Parallel()
	require.Empty(t, access.Needs("GET", "/secrets"))
	require.Empty(t, access.Needs("PUT", "/events"))
}

func TestAChangeKnowsItsActor(t *testing.T) {
	t.Parallel()
	tokens, texts := crowd(t)
	behind := &stub{noSuch: "new"}
	_, url := serve(t, operator.Options{API: behind.api(), Tokens: tokens})
	r := ask(t, "POST", url+"/dead-letters/7/discard", `{"reason":"it was a test"}`, bearer(texts[access.RoleAdmin])...)
	require.Equal(t, 200, r.status)
	require.Equal(t, "the-admin", behind.actor.Name)
	require.Equal(t, "admin", behind.actor.Role)
	require.Equal(t, "it was a test", behind.actor.Reason)
	require.Equal(t, r.header.Get("X-Request-Id"), behind.actor.RequestID)
}

func TestWrongTokensLockAnAddressOut(t *testing.T) {
	t.Parallel()
	tokens, texts := crowd(t)
	_, url := serve(t, operator.Options{API: (&stub{}).api(), Tokens: tokens})
	for i := range 10 {
		wrong := texts[access.RoleViewer] + "x"
		if i == 5 {
			wrong = ""
		}
		r := ask(t, "GET", url+"/events", "", "Authorization", "Bearer "+wrong)
		require.Equal(t, 401, r.status, i)
	}
	r := ask(t, "GET", url+"/events", "", "Authorization", "Bearer wrong")
	require.Equal(t, "429 locked_out", fmt.Sprint(r.status, " ", r.Error.Code))
	require.Regexp(t, `^(29\d|300)$`, r.header.Get("Retry-After"))
	require.Equal(t, 200, ask(t, "GET", url+"/healthz", "").status, "probes go on")
	for role, text := range texts {
		require.Equal(t, 200, ask(t, "GET", url+"/events", "", bearer(text)...).status, "%s shares the address with a guesser", role)
	}
	require.Equal(t, 429, ask(t, "GET", url+"/events", "", "Authorization", "Bearer wrong").status, "a good token unlocks nobody else")
}

func TestWithoutTokensOnlyThisMachineIsServed(t *testing.T) {
	t.Parallel()
	tokens, _ := crowd(t)
	for address, ok := range map[string]bool{
		"127.0.0.1:8081": true, "127.1.2.3:0": true, "[::1]:8081": true, "localhost:8081": true,
		"0.0.0.0:8081": false, ":8081": false, "[::]:8081": false, "10.0.0.1:8081": false, "example.com:8081": false,
	} {
		err := operator.CheckAddress(address, nil)
		require.Equal(t, ok, err == nil, address)
		if !ok {
			require.ErrorContains(t, err, "HOLDFAST_OPERATOR_TOKENS")
		}
		require.NoError(t, operator.CheckAddress(address, tokens), address)
	}
}

// A prefix that begins like one of our paths would be ambiguous.
func TestAPrefixMustNotBeAPathOfThePort(t *testing.T) {
	t.Parallel()
	for prefix, ok := range map[string]bool{
		"": true, "/holdfast": true, "/tools/holdfast": true, "/tools/console": true, "/consoles": true, "/event": true,
		"/console": false, "/console/x": false, "/events": false, "/dead-letters/tools": false, "/metrics": false, "/changes": false,
	} {
		err := operator.CheckPrefix(prefix)
		require.Equal(t, ok, err == nil, prefix)
		if !ok {
			require.ErrorContains(t, err, "/holdfast")
		}
	}
}

// On a server without tokens, a page of another site in a local browser must reach nothing.
func TestForeignPagesReachNothing(t *testing.T) {
	t.Parallel()
	behind := &stub{noSuch: "new"}
	_, url := serve(t, operator.Options{API: behind.api()})
	for name, headers := range map[string][]string{
		"another origin":          {"Origin", "https://evil.example"},
		"no origin":               {"Origin", "null"},
		"another site":            {"Sec-Fetch-Site", "cross-site"},
		"a name that points here": {"Host", "rebound.evil.example:8081"},
	} {
		r := ask(t, "POST", url+"/dead-letters/7/replay", "", headers...)
		require.Equal(t, "403 foreign_page", fmt.Sprint(r.status, " ", r.Error.Code), name)
	}
	require.Empty(t, behind.called())
	require.Equal(t, 202, ask(t, "POST", url+"/dead-letters/7/replay", "").status)
	require.Equal(t, "local", behind.actor.Name)
	require.Equal(t, 202, ask(t, "POST", url+"/dead-letters/7/replay", "", "Origin", url).status, "its own page")
	require.Equal(t, []string{"replay", "replay"}, behind.called())
	require.Equal(t, 202, ask(t, "POST", url+"/dead-letters/7/replay", `{"fetch":true}`).status)
	require.Equal(t, "fetch", behind.called()[2])
}
