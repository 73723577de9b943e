package console_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/operator"
	"holdfast/operator/access"
	"holdfast/operator/api"
	"holdfast/operator/console"
)

// vendored are third-party scripts, as npm has them in htmx.org 4.0.1 (dist/htmx.min.js, dist/ext/hx-sse.min.js).
var vendored = map[string]string{
	"htmx.min.js":   "a0abb04f2f45a1f89d1d4844023245537e5e6014c87b144553e0607b4cc32130",
	"hx-sse.min.js": "18ef2761356ec1fe0bb6d92612315b37517a7c1e9856b661c5ae81fef239d103",
}

func TestVendoredScriptsMatchTheirReleases(t *testing.T) {
	t.Parallel()
	for name, wanted := range vendored {
		content, err := os.ReadFile("frame/assets/" + name)
		require.NoError(t, err)
		sum := sha256.Sum256(content)
		require.Equal(t, wanted, hex.EncodeToString(sum[:]), name)
	}
}

// site is a console on a real listener.
type site struct {
	url    string
	tokens map[access.Role]string
	all    access.Tokens
	prefix string
	shown  console.Options

	sessions *sessions
	tickets  *access.LoginLinks
}

func start(t *testing.T, prefix string, withTokens bool) site {
	t.Helper()
	return startShowing(t, console.Options{}, prefix, withTokens)
}

func startShowing(t *testing.T, shown console.Options, prefix string, withTokens bool) site {
	t.Helper()
	s := site{tokens: map[access.Role]string{}, shown: shown}
	if withTokens {
		for _, role := range access.Roles() {
			text, token, err := access.NewToken("the-"+string(role), role)
			require.NoError(t, err)
			s.all, s.tokens[role] = append(s.all, token), text
		}
	}
	s.prefix, s.sessions, s.tickets = prefix, &sessions{}, &access.LoginLinks{}
	return s.serve(t)
}

// serve starts another process of the site with the shared state.
func (s site) serve(t *testing.T) site {
	t.Helper()
	o := s.shown
	o.Prefix, o.Version, o.Log = s.prefix, "test", cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.API == nil {
		o.API = &api.API{}
	}
	server := operator.New(operator.Options{
		API: o.API, Site: console.New(o).Site(), Prefix: s.prefix, Tokens: s.all, Log: o.Log, Sessions: s.sessions, LoginLinks: s.tickets,
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		require.NoError(t, server.Shutdown(ctx))
	})
	s.url = "http://" + listener.Addr().String()
	return s
}

// visitor is a browser that keeps cookies and doesn't follow redirects.
type visitor struct {
	*http.Client
	t *testing.T
}

func newVisitor(t *testing.T) visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return visitor{&http.Client{Jar: jar, CheckRedirect: stay, Timeout: 10 * time.Second}, t}
}

func (v visitor) ask(method, address string, form url.Values, headers ...string) (*http.Response, string) {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), method, address, strings.NewReader(form.Encode()))
	require.NoError(v.t, err)
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	res, err := v.Do(req)
	require.NoError(v.t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(v.t, err)
	return res, string(body)
}

func (v visitor) get(address string, headers ...string) (*http.Response, string) {
	v.t.Helper()
	return v.ask("GET", address, nil, headers...)
}

func (v visitor) logIn(s site, token string) *http.Response {
	v.t.Helper()
	res, _ := v.ask("POST", s.url+"/console/login", url.Values{"token": {token}, "next": {"/console?x=1"}})
	return res
}

var proofField = regexp.MustCompile(`name="csrf" value="([0-9a-f]{64})"`)

func TestASessionIsATokenExchanged(t *testing.T) {
	t.Parallel()
	s := start(t, "", true)
	v := newVisitor(t)
	res, _ := v.get(s.url + "/console?x=1")
	require.Equal(t, 303, res.StatusCode)
	require.Equal(t, "/console/login?next=%2Fconsole%3Fx%3D1", res.Header.Get("Location"))
	res = v.logIn(s, "wrong")
	require.Equal(t, 401, res.StatusCode)
	require.Empty(t, res.Cookies())
	require.Empty(t, res.Header.Get("WWW-Authenticate"))

	res = v.logIn(s, s.tokens[access.RoleViewer])
	require.Equal(t, "303 /console?x=1", res.Status[:3]+" "+res.Header.Get("Location"))
	cookie := res.Cookies()[0]
	require.True(t, cookie.HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, cookie.SameSite)
	require.False(t, cookie.Secure)
	require.NotContains(t, cookie.Value, s.tokens[access.RoleViewer])
	res, page := v.get(s.url + "/console")
	require.Equal(t, 200, res.StatusCode)
	require.Contains(t, page, "the-viewer")
	res, _ = v.get(s.url + "/openapi.json")
	require.Equal(t, 200, res.StatusCode, "the API knows the session as well")

	proof := proofField.FindStringSubmatch(page)[1]
	res, _ = v.ask("POST", s.url+"/console/logout", url.Values{"csrf": {strings.Repeat("0", 64)}})
	require.Equal(t, 403, res.StatusCode)
	res, _ = v.ask("POST", s.url+"/console/logout", url.Values{"csrf": {proof}}, "Origin", "https://evil.example")
	require.Equal(t, 403, res.StatusCode)
	res, _ = v.ask("POST", s.url+"/console/logout", url.Values{"csrf": {proof}})
	require.Equal(t, 303, res.StatusCode)
	res, _ = v.get(s.url + "/console")
	require.Equal(t, 303, res.StatusCode)
}

// An invalid request or an unknown path gets an error page, and no process crashes.
func TestEveryFailureIsAPage(t *testing.T) {
	t.Parallel()
	s := start(t, "", true)
	v := newVisitor(t)
	res, _ := v.get(s.url + "/console/nothing")
	require.Equal(t, 303, res.StatusCode, "one has to log in to learn what is not there")
	v.logIn(s, s.tokens[access.RoleViewer])
	for _, path := range []string{"/console/nothing", "/console/assets/x/y"} {
		res, page := v.get(s.url + path)
		require.Equal(t, 404, res.StatusCode, path)
		require.Contains(t, page, res.Header.Get("X-Request-Id"))
		require.Contains(t, page, "<h1>Not found</h1>")
		require.Contains(t, res.Header.Get("Content-Security-Policy"), "script-src 'self'")
	}
	res, _ = v.get(s.url+"/console", "X-Long", strings.Repeat("x", 20<<10))
	require.Equal(t, 431, res.StatusCode)
	res, page := v.ask("POST", s.url+"/console/login", url.Values{"token": {strings.Repeat("x", 100<<10)}})
	require.Equal(t, 413, res.StatusCode)
	require.Contains(t, page, "too large")
}

func TestASessionChangesNothingThatItsPageDoesNotAskFor(t *testing.T) {
	t.Parallel()
	s := start(t, "", true)
	v := newVisitor(t)
	v.logIn(s, s.tokens[access.RoleAdmin])
	_, page := v.get(s.url + "/console")
	proof := proofField.FindStringSubmatch(page)[1]
	good := url.Values{"csrf": {proof}}
	for name, wrong := range map[string]struct {
		form    url.Values
		headers []string
	}{
		"no proof":        {url.Values{}, nil},
		"another's proof": {url.Values{"csrf": {otherProof(t, s)}}, nil},
		"another origin":  {good, []string{"Origin", "https://evil.example"}},
		"no origin":       {good, []string{"Origin", "null"}},
		"another site":    {good, []string{"Sec-Fetch-Site", "cross-site"}},
		"a sibling":       {good, []string{"Sec-Fetch-Site", "same-site"}},
		"a followed form": {good, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}},
	} {
		res, _ := v.ask("POST", s.url+"/console/logout", wrong.form, wrong.headers...)
		require.Equal(t, 403, res.StatusCode, name)
	}
	res, _ := v.ask("POST", s.url+"/console/logout", nil, "X-Csrf-Token", proof, "Origin", s.url)
	require.Equal(t, 303, res.StatusCode)
}

// otherProof returns the proof of another session of the same token.
func otherProof(t *testing.T, s site) string {
	t.Helper()
	v := newVisitor(t)
	v.logIn(s, s.tokens[access.RoleAdmin])
	_, page := v.get(s.url + "/console")
	return proofField.FindStringSubmatch(page)[1]
}

func TestWithoutTokensThisMachineIsInAndForeignPagesAreNot(t *testing.T) {
	t.Parallel()
	s := start(t, "", false)
	v := newVisitor(t)
	res, page := v.get(s.url + "/console")
	require.Equal(t, 200, res.StatusCode)
	require.Contains(t, page, "local <small>admin</small>")
	require.NotContains(t, page, "Log out")
	res, _ = v.get(s.url+"/console", "Host", "rebound.evil.example:8081")
	require.Equal(t, 403, res.StatusCode)
	linked := []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}
	res, _ = v.get(s.url+"/console", append(linked, "Host", "rebound.evil.example:8081")...)
	require.Equal(t, 403, res.StatusCode, "a name that points here is not followed")
	res, _ = v.get(s.url+"/console", linked...)
	require.Equal(t, 200, res.StatusCode, "a link of another site is")
	res, _ = v.get(s.url+"/console", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image")
	require.Equal(t, 403, res.StatusCode)
	res, _ = v.ask("POST", s.url+"/console/logout", url.Values{})
	require.Equal(t, 403, res.StatusCode, "nothing changes without the proof of a page")
}

func TestGuessesAtTheDoorLockAnAddressOut(t *testing.T) {
	t.Parallel()
	s := start(t, "", true)
	v := newVisitor(t)
	for range 10 {
		require.Equal(t, 401, v.logIn(s, "wrong").StatusCode)
	}
	res, page := v.ask("POST", s.url+"/console/login", url.Values{"token": {"wrong"}})
	require.Equal(t, 429, res.StatusCode)
	require.Contains(t, page, "Too many wrong tokens")
	require.NotEmpty(t, res.Header.Get("Retry-After"))
	require.Equal(t, 429, v.logIn(s, "").StatusCode)
	require.Equal(t, 303, v.logIn(s, s.tokens[access.RoleViewer]).StatusCode, "a token that is right passes")
}

func TestATicketLogsInOnceAndLeadsNowhereElse(t *testing.T) {
	t.Parallel()
	s := start(t, "", true)
	ticket := s.tickets.Make("the-operator")
	address := s.url + "/console/login?" + url.Values{"ticket": {ticket}, "next": {"//evil.example"}}.Encode()
	res, _ := newVisitor(t).get(address)
	require.Equal(t, "303 /console", res.Status[:3]+" "+res.Header.Get("Location"))
	require.NotEmpty(t, res.Cookies())
	res, page := newVisitor(t).get(address)
	require.Equal(t, 401, res.StatusCode)
	require.Contains(t, page, "has expired")
	secret, _, ok := s.all.Open("the-operator", time.Now().Add(time.Minute))
	require.True(t, ok)
	res, _ = newVisitor(t).get(s.url + "/console/login?" + url.Values{"ticket": {secret}}.Encode())
	require.Equal(t, 401, res.StatusCode)
	for _, next := range []string{"https://evil.example", "/\\evil.example", "/consoles", "/console\\@evil", "/console/../..//evil"} {
		v := newVisitor(t)
		res, _ := v.ask("POST", s.url+"/console/login", url.Values{"token": {s.tokens[access.RoleViewer]}, "next": {next}})
		require.True(t, strings.HasPrefix(res.Header.Get("Location"), "/console"), next)
		require.NotContains(t, res.Header.Get("Location"), "\\", next)
	}
}

// Behind a proxy the console has a path prefix, whether the proxy removes it or not.
func TestAPrefixIsInEveryAddress(t *testing.T) {
	t.Parallel()
	s := start(t, "/tools/holdfast", true)
	for _, seen := range []string{"/tools/holdfast", ""} {
		v := newVisitor(t)
		res, _ := v.get(s.url+seen+"/", "Accept", "text/html")
		require.Equal(t, "/tools/holdfast/console", res.Header.Get("Location"))
		res, page := v.get(s.url + seen + "/console/login")
		require.Equal(t, 200, res.StatusCode)
		for _, address := range addresses.FindAllStringSubmatch(page, -1) {
			require.True(t, strings.HasPrefix(address[1], "/tools/holdfast/") || address[1] == "#main", address[1])
		}
		res, _ = v.ask("POST", s.url+seen+"/console/login", url.Values{"token": {s.tokens[access.RoleViewer]}},
			"X-Forwarded-Proto", "https")
		require.Equal(t, "/tools/holdfast/console", res.Header.Get("Location"))
		require.Equal(t, "/tools/holdfast/", res.Cookies()[0].Path)
		require.True(t, res.Cookies()[0].Secure)
		session := res.Cookies()[0].Name + "=" + res.Cookies()[0].Value
		res, _ = v.get(s.url+seen+"/console", "Cookie", session)
		require.Equal(t, 200, res.StatusCode)
		res, _ = newVisitor(t).get(s.url + seen + "/console/events/x?y=1")
		require.Equal(t, "/tools/holdfast/console/login?next=%2Ftools%2Fholdfast%2Fconsole%2Fevents%2Fx%3Fy%3D1", res.Header.Get("Location"))
	}
}

var addresses = regexp.MustCompile(`(?:href|src|action|hx-sse:connect)="([^"]*)"`)

func TestPagesAreNotCached(t *testing.T) {
	t.Parallel()
	s := start(t, "", false)
	v := newVisitor(t)
	res, page := v.get(s.url + "/console")
	require.Equal(t, "no-store", res.Header.Get("Cache-Control"))
	require.Equal(t, "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "+
		"form-action 'self'; frame-ancestors 'none'; base-uri 'none'", res.Header.Get("Content-Security-Policy"))
	require.NotRegexp(t, `(?i)<[^>]+\s(style|on\w+)=|<style|<script(?:[^>]*)>[^<]`, page)
	found := 0
	for _, address := range addresses.FindAllStringSubmatch(page, -1) {
		if strings.Contains(address[1], "/assets/") {
			res, content := v.get(s.url + address[1])
			require.Equal(t, "200 public, max-age=31536000, immutable", res.Status[:3]+" "+res.Header.Get("Cache-Control"))
			require.NotEmpty(t, content)
			found++
		}
	}
	require.Equal(t, 5, found)
	res, _ = v.get(s.url + "/console/assets/ofanotherbui/console.css")
	require.Equal(t, "200 no-store", res.Status[:3]+" "+res.Header.Get("Cache-Control"))
}

func TestEachRouteSaysWhoMayUseIt(t *testing.T) {
	t.Parallel()
	pages := console.New(console.Options{API: &api.API{}}).Site().Pages
	require.NotEmpty(t, pages)
	for _, p := range pages {
		require.NotEmpty(t, access.Needs(p.Method, p.Path), p.Path)
		require.True(t, p.Path == console.Home || strings.HasPrefix(p.Path, console.Home+"/"), p.Path)
	}
}

// Many open pages with streams don't block other pages or the probes.
func TestPagesThatStayOpenLeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	s := start(t, "", false)
	v := newVisitor(t)
	open := func() *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), "GET", s.url+"/console/now/tail", nil)
		require.NoError(t, err)
		res, err := v.Do(req)
		require.NoError(t, err)
		t.Cleanup(func() { _ = res.Body.Close() })
		return res
	}
	for range 100 {
		require.Equal(t, 200, open().StatusCode)
	}
	for range 200 {
		res := open()
		require.Equal(t, 503, res.StatusCode)
		require.NoError(t, res.Body.Close())
	}
	res, _ := v.get(s.url + "/healthz")
	require.Equal(t, 200, res.StatusCode)
}
