package operator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fasthttp/websocket"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/operator"
	"holdfast/operator/access"
)

// oneSession holds the session of a viewer who is logged in to the console.
type oneSession struct{ it oversight.Session }

func (s oneSession) Session(_ context.Context, id []byte) (oversight.Session, error) {
	if !bytes.Equal(id, s.it.ID) {
		return oversight.Session{}, event.ErrNotFound
	}
	return s.it, nil
}
func (oneSession) OpenSession(context.Context, oversight.Session, oversight.Actor) error { return nil }
func (oneSession) CloseSession(context.Context, []byte, oversight.Actor) error           { return nil }
func (oneSession) Audit(context.Context, oversight.AuditEntry) error                     { return nil }

const app = "https://app.example.com"

// A page of another configured origin reads the change feed, as a page, a stream and a WebSocket:
//   - the preflight of its origin succeeds without a token, for GET only
//   - it needs a token, which a WebSocket sends as a subprotocol; the browser's own session is refused
//   - another origin is refused, and so is every other route
//   - our own pages need only their session
func TestPagesOfOtherOriginsReadTheChangeFeed(t *testing.T) {
	t.Parallel()
	tokens, texts := crowd(t)
	s := &stub{}
	s.happen(2)
	secret, session, ok := tokens.Open("the-viewer", time.Now().Add(time.Hour))
	require.True(t, ok)
	_, url := serve(t, operator.Options{
		API: s.api(), Tokens: tokens, Sessions: oneSession{session}, ChangesOrigins: []string{"http://a:1", app},
	})
	from := func(origin string, more ...string) []string {
		return append([]string{"Origin", origin, "Sec-Fetch-Site", "cross-site"}, more...)
	}
	preflight := func(path, origin string) reply {
		return ask(t, "OPTIONS", url+path, "", from(origin, "Access-Control-Request-Method", "GET",
			"Access-Control-Request-Headers", "authorization,last-event-id")...)
	}
	allowed := preflight("/changes?after=now", app)
	require.Equal(t, 204, allowed.status)
	require.Equal(t, app, allowed.header.Get("Access-Control-Allow-Origin"))
	require.Equal(t, "GET", allowed.header.Get("Access-Control-Allow-Methods"))
	require.Contains(t, allowed.header.Get("Access-Control-Allow-Headers"), "Last-Event-ID")
	require.Empty(t, allowed.header.Get("Access-Control-Allow-Credentials"))

	viewer, cookie := bearer(texts[access.RoleViewer]), []string{"Cookie", "holdfast_session=" + secret}
	page := ask(t, "GET", url+"/changes?after=start", "", from(app, viewer...)...)
	require.Equal(t, 200, page.status)
	require.Equal(t, app, page.header.Get("Access-Control-Allow-Origin"))
	res, lines := stream(t, url+"/changes?after=start", from(app, viewer...)...)
	require.Equal(t, app, res.Header.Get("Access-Control-Allow-Origin"))
	_, data := nextData(t, lines)
	require.Equal(t, "1", idOf(t, data))

	require.Equal(t, 401, ask(t, "GET", url+"/changes", "", from(app)...).status)
	require.Equal(t, 401, ask(t, "GET", url+"/changes", "", from(app, cookie...)...).status)
	require.Equal(t, 200, ask(t, "GET", url+"/changes", "", append(cookie, "Origin", url)...).status, "our own page")
	for _, other := range []string{"https://evil.example", "http://app.example.com", app + ".evil.example", "null"} {
		require.Empty(t, preflight("/changes", other).header.Get("Access-Control-Allow-Origin"), other)
		refused := ask(t, "GET", url+"/changes", "", from(other, viewer...)...)
		require.Equal(t, "403 foreign_page", fmt.Sprint(refused.status, " ", refused.Error.Code), other)
	}
	require.Equal(t, "foreign_page", ask(t, "GET", url+"/events", "", from(app, viewer...)...).Error.Code)
	require.Equal(t, "foreign_page", ask(t, "POST", url+"/codec/decode", "{}", from(app, viewer...)...).Error.Code)
}

// A browser sends the token of a WebSocket as a subprotocol.
func TestAWebSocketShowsItsTokenAsASubprotocol(t *testing.T) {
	t.Parallel()
	tokens, texts := crowd(t)
	s := &stub{}
	s.happen(1)
	secret, session, ok := tokens.Open("the-viewer", time.Now().Add(time.Hour))
	require.True(t, ok)
	_, url := serve(t, operator.Options{
		API: s.api(), Tokens: tokens, Sessions: oneSession{session}, ChangesOrigins: []string{app},
	})
	open := func(path, origin, protocols string) (*websocket.Conn, int) {
		header := http.Header{"Origin": {origin}, "Cookie": {"holdfast_session=" + secret}}
		if protocols != "" {
			header.Set("Sec-WebSocket-Protocol", protocols)
		}
		conn, res, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(url, "http")+path, header)
		if err == nil {
			t.Cleanup(func() { _ = conn.Close() })
		}
		require.NoError(t, res.Body.Close())
		require.NotContains(t, res.Header.Get("Sec-WebSocket-Protocol"), texts[access.RoleViewer])
		return conn, res.StatusCode
	}
	with := "holdfast.changes, holdfast.token." + texts[access.RoleViewer]
	conn, status := open("/changes?after=start", app, with)
	require.Equal(t, 101, status)
	require.Equal(t, "holdfast.changes", conn.Subprotocol())
	_, data, err := conn.ReadMessage()
	require.NoError(t, err)
	require.Equal(t, "1", idOf(t, string(data)))
	require.True(t, json.Valid(data))

	for want, refused := range map[int][]string{
		401: {"/changes", app, ""},
		403: {"/changes", "https://evil.example", with},
	} {
		_, status := open(refused[0], refused[1], refused[2])
		require.Equal(t, want, status, refused)
	}
	_, status = open("/changes", app, "holdfast.changes, holdfast.token.wrong")
	require.Equal(t, 401, status)
	_, status = open("/changes?after=start", url, "")
	require.Equal(t, 101, status, "our own page, by its session")
}

// A proxy may ask for a password, which the browser sends with the WebSocket and the proxy passes on.
func TestAWebSocketShowsItsTokenBehindAPasswordOfAProxy(t *testing.T) {
	t.Parallel()
	tokens, texts := crowd(t)
	s := &stub{}
	s.happen(1)
	_, url := serve(t, operator.Options{API: s.api(), Tokens: tokens, ChangesOrigins: []string{app}})
	for protocols, wanted := range map[string]int{
		"holdfast.changes, holdfast.token." + texts[access.RoleViewer]: 101,
		"holdfast.changes, holdfast.token.wrong":                       401,
		"holdfast.changes":                                             401,
	} {
		header := http.Header{"Origin": {app}, "Authorization": {"Basic YWRhOnB3"}, "Sec-WebSocket-Protocol": {protocols}}
		conn, res, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(url, "http")+"/changes", header)
		if err == nil {
			require.NoError(t, conn.Close())
		}
		require.NoError(t, res.Body.Close())
		require.Equal(t, wanted, res.StatusCode, protocols)
	}
}
