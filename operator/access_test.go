package operator_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/operator"
)

// concrete fills the parameters of a route in.
var concrete = strings.NewReplacer(":provider", "acme", ":kind", "thing", ":external_id", "1")

func target(method, path string) string {
	id := "7"
	if strings.HasPrefix(path, "/events") {
		id = someID
	}
	return concrete.Replace(strings.ReplaceAll(path, ":id", id))
}

// sample is a body that each route accepts.
func sample(path string) string {
	switch {
	case strings.HasSuffix(path, "/discard"):
		return `{"reason":"because"}`
	case strings.HasSuffix(path, "/edit"):
		return `{"body":"{}"}`
	case strings.HasSuffix(path, "/cleanup"):
		return `{"older_than":"720h"}`
	case strings.HasSuffix(path, "/redrives"), strings.HasSuffix(path, "/rebuilds"):
		return `{"all":true}`
	default:
		return ""
	}
}

// Every route that is registered is in the table, and asks for the role that stands there:
//   - no token, a wrong one and one of a lesser role reach nothing
//   - the role itself and every greater one do
func TestEveryRouteAsksForItsRole(t *testing.T) {
	t.Parallel()
	tokens, texts := crowd(t)
	behind := &stub{}
	metrics := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	server, url := serve(t, operator.Options{API: behind.api(), Tokens: tokens, Metrics: metrics, MetricsJSON: metrics, MetricsHistory: metrics})

	var seen []string
	for _, route := range server.Registered() {
		name := route.Method + " " + route.Path
		needed := operator.Needed(route.Method, route.Path)
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
		for _, role := range operator.Roles() {
			mayCall := slices.Index(operator.Roles(), role) >= slices.Index(operator.Roles(), needed)
			if !mayCall {
				r := ask(t, route.Method, address, content, bearer(texts[role])...)
				require.Equal(t, "403 forbidden", fmt.Sprint(r.status, " ", r.Error.Code), "%s as %s", name, role)
			}
		}
		require.Len(t, behind.called(), before, "%s was let through", name)
		for _, role := range operator.Roles()[slices.Index(operator.Roles(), needed):] {
			r := ask(t, route.Method, address, content, bearer(texts[role])...)
			require.Less(t, r.status, 300, "%s as %s: %s", name, role, r.body)
		}
	}
	require.ElementsMatch(t, operator.Guarded(), seen, "the table and the routes are the same")
}

func TestWhatIsNotInTheTableIsRefusedForEverybody(t *testing.T) {
	t.Parallel()
	require.Empty(t, operator.Needed("GET", "/secrets"))
	require.Empty(t, operator.Needed("PUT", "/events"))
}

func TestAChangeKnowsItsActor(t *testing.T) {
	t.Parallel()
	tokens, texts := crowd(t)
	behind := &stub{}
	_, url := serve(t, operator.Options{API: behind.api(), Tokens: tokens})
	r := ask(t, "POST", url+"/dead-letters/7/discard", `{"reason":"it was a test"}`, bearer(texts[operator.RoleAdmin])...)
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
		wrong := texts[operator.RoleViewer] + "x"
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

func TestALockoutEndsAndItsMemoryIsBounded(t *testing.T) {
	t.Parallel()
	now := noon
	l := operator.NewLockout(func() time.Time { return now })
	for range 9 {
		require.False(t, l.Fail("10.0.0.1"))
	}
	now = now.Add(6 * time.Minute) // those are too long ago
	for range 9 {
		require.False(t, l.Fail("10.0.0.1"))
	}
	require.Zero(t, l.Remaining("10.0.0.1"))
	require.True(t, l.Fail("10.0.0.1"))
	require.False(t, l.Fail("10.0.0.1"), "it is told once")
	require.Equal(t, 5*time.Minute, l.Remaining("10.0.0.1"))
	require.Zero(t, l.Remaining("10.0.0.2"))
	require.Equal(t, 5*time.Minute, l.Remaining("::ffff:10.0.0.1"), "the same address as IPv6 writes it")
	now = now.Add(5 * time.Minute)
	require.Zero(t, l.Remaining("10.0.0.1"))
	require.False(t, l.Fail("10.0.0.1"), "it counts anew")

	for i := range 10 {
		l.Fail(fmt.Sprintf("2001:db8::%x", i))
	}
	require.Positive(t, l.Remaining("2001:db8::ffff"), "of IPv6 a network counts")
	for i := range 10_000 {
		l.Fail(fmt.Sprintf("10.1.%d.%d", i/250, i%250))
	}
	require.LessOrEqual(t, l.Len(), 4096)
}

func TestTokensAreReadAndMisreadWithoutBeingShown(t *testing.T) {
	t.Parallel()
	text, token, err := operator.NewToken("ada", operator.RoleOperator)
	require.NoError(t, err)
	require.Regexp(t, `^holdfast_[A-Za-z0-9_-]{43}$`, text)
	require.NotContains(t, token.String(), text)
	parsed, err := operator.ParseTokens(" " + token.String() + ",\n" + strings.Replace(token.String(), "ada", "bob", 1) + "\n")
	require.NoError(t, err)
	require.Len(t, parsed, 2)
	require.Equal(t, token, parsed[0])
	another, _, err := operator.NewToken("ada", operator.RoleOperator)
	require.NoError(t, err)
	require.NotEqual(t, text, another)

	hash := strings.Repeat("ab", 32)
	for name, wrong := range map[string]string{
		"no parts": "CANARY", "a token instead of a hash": "ada:viewer:holdfast_CANARY", "a short hash": "ada:viewer:ab",
		"no such role": "ada:CANARY:" + hash, "no name": ":viewer:" + hash, "a part too many": "ada:viewer:" + hash + ":CANARY",
		"one name twice": "ada:viewer:" + hash + ",ada:admin:" + hash,
	} {
		_, err := operator.ParseTokens(wrong)
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), "CANARY", name)
	}
	for _, wrong := range [][2]string{{"", "viewer"}, {"a:b", "viewer"}, {"ada", "root"}} {
		_, _, err := operator.NewToken(wrong[0], operator.Role(wrong[1]))
		require.Error(t, err)
	}
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

// A browser on the machine of a server without tokens must not be the arm of a page from elsewhere.
func TestForeignPagesReachNothing(t *testing.T) {
	t.Parallel()
	behind := &stub{}
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
}
