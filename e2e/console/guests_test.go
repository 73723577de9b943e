package console

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"holdfast/operator/access"
)

// servePages serves an empty page at an address, like another application's server.
func servePages(t *testing.T, address string) (origin string) {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	require.NoError(t, err)
	server := &httptest.Server{Listener: listener, Config: &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<!doctype html>")) }),
	}}
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

// Each returns the first change that a page reads, or "nothing" if there is none or the browser withholds it.
const (
	paged = `fetch(%q + "/changes?after=start", {...%s}).then(r => r.json()).then(p => p.items ? "a change" : "nothing",
		() => "nothing")`
	streamed = `fetch(%q + "/changes?after=start&subject=event", {...%s}).then(r => r.status == 200 ? r.body.getReader().read() : {},
		() => ({})).then(r => r.value ? "a change" : "nothing")`
	socketed = `new Promise(done => {
		const socket = new WebSocket(%q + "/changes?after=start", %s);
		socket.onmessage = m => { done(JSON.parse(m.data).cursor ? "a change" : m.data); socket.close(); };
		socket.onerror = () => done("nothing");
	})`
)

// An operator who is logged in to the console visits a page of another application on the same host:
//   - a page of a configured origin reads the change feed with a token, in each form
//   - without a token it gets nothing, although the browser has the operator's session
//   - a page of any other origin gets nothing, even with a token
func TestPagesOfAnotherApplication(t *testing.T) {
	t.Parallel()
	holdfast.sent(t, "guest-1", `{"id":"guest-1"}`, "processed")
	b := newBrowser(t).logIn(access.RoleViewer)
	b.roams = true
	guest := servePages(t, strings.TrimPrefix(holdfast.guest, "http://"))
	require.Equal(t, holdfast.guest, guest)
	const session = `{credentials: "include"}`
	token := holdfast.tokens[access.RoleViewer]
	bearer := fmt.Sprintf(`{headers: {Authorization: "Bearer %s"}}`, token)
	stream := fmt.Sprintf(`{headers: {Accept: "text/event-stream", Authorization: "Bearer %s"}}`, token)
	protocols := fmt.Sprintf(`["holdfast.changes", "holdfast.token.%s"]`, token)
	socket := "ws" + strings.TrimPrefix(holdfast.operator, "http")
	for origin, want := range map[string]string{guest: "a change", servePages(t, "127.0.0.1:0"): "nothing"} {
		b.origin = origin
		b.open("/")
		get := func(script, url, shows string) string {
			return do(b, chromedp.Evaluate[string](fmt.Sprintf(script, url, shows), chromedp.EvalAwaitPromise))
		}
		require.Equal(t, want, get(paged, holdfast.operator, bearer), origin)
		require.Equal(t, want, get(streamed, holdfast.operator, stream), origin)
		require.Equal(t, want, get(socketed, socket, protocols), origin)
		require.Equal(t, "nothing", get(paged, holdfast.operator, session), origin)
		require.Equal(t, "nothing", get(socketed, socket, "[]"), origin)
	}
	b.origin = holdfast.operator
	b.open("/console/events")
	page := do(b, chromedp.Evaluate[string](fmt.Sprintf(paged, holdfast.operator, session), chromedp.EvalAwaitPromise))
	require.Equal(t, "a change", page, "the browser is logged in")
}
