package operator_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fasthttp/websocket"
	"github.com/stretchr/testify/require"

	"holdfast/event/feed"
	"holdfast/operator"
	"holdfast/operator/access"
)

// The stub's feed has one epoch: change n is at position n.

func (s *stub) happen(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range n {
		id := uint64(len(s.changes) + 1)
		s.changes = append(s.changes, feed.Change{
			Subject: feed.Entity, Action: feed.Changed, Provider: "acme", Kind: []string{"cat", "dog"}[id%2], ID: fmt.Sprint(id),
			Revision: int64(id), At: noon, Cursor: feed.Cursor{Epoch: 1, XID: id, Item: 1},
		})
	}
}

func (s *stub) Changes(_ context.Context, after feed.Cursor, limit int) (feed.Page, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if after.Epoch > 1 {
		return feed.Page{}, feed.ErrResync
	}
	p := feed.Page{Next: feed.Cursor{Epoch: 1, XID: after.XID, Item: after.Item}}
	for _, c := range s.changes {
		if c.Cursor.Compare(after) > 0 && len(p.Items) < limit {
			p.Items, p.Next = append(p.Items, c), c.Cursor
		}
	}
	p.More = len(p.Items) == limit
	return p, s.err
}

func (s *stub) Now(context.Context) (feed.Cursor, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return feed.Cursor{Epoch: 1, XID: uint64(len(s.changes)), Item: 1}, s.err
}

func (s *stub) Since(context.Context, time.Time) (feed.Cursor, error) {
	return feed.Cursor{Epoch: 1, XID: 5, Item: 1}, s.err
}

// changesPage is a response of GET /changes.
type changesPage struct {
	Items []feed.Change `json:"items"`
	Next  string        `json:"next"`
	More  bool          `json:"more"`
}

func TestChangesArePagedFromAnyPlace(t *testing.T) {
	t.Parallel()
	s := &stub{}
	s.happen(100)
	_, url := serve(t, operator.Options{API: s.api()})
	read := func(query string) (p changesPage) {
		r := ask(t, "GET", url+"/changes?"+query, "")
		require.Equal(t, 200, r.status, string(r.body))
		require.NoError(t, json.Unmarshal(r.body, &p))
		return p
	}
	first := read("")
	require.Len(t, first.Items, 50)
	require.True(t, first.More)
	second := read("after=" + first.Next + "&limit=200")
	require.Len(t, second.Items, 50)
	require.False(t, second.More)
	require.NotEmpty(t, second.Next)
	require.Empty(t, read("after="+second.Next).Items)
	require.Empty(t, read("after=now").Items)
	require.Equal(t, "6", read("after=1h").Items[0].ID)
	dogs := read("kind=dog&limit=30")
	require.Len(t, dogs.Items, 30)
	require.Equal(t, "61", read("kind=dog&after=" + dogs.Next).Items[0].ID)
	require.Empty(t, read("subject=delivery").Items)

	require.Equal(t, "bad_cursor", ask(t, "GET", url+"/changes?after=nonsense", "").Error.Code)
	require.Equal(t, "bad_parameter", ask(t, "GET", url+"/changes?subject=nonsense", "").Error.Code)
	lost := ask(t, "GET", url+"/changes?after="+feed.Cursor{Epoch: 2, XID: 1}.String(), "")
	require.Equal(t, http.StatusGone, lost.status)
	require.Equal(t, "resync", lost.Error.Code)
}

// stream opens an event stream that ends with the test.
func stream(t *testing.T, url string, headers ...string) (*http.Response, *bufio.Reader) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	require.NoError(t, err)
	req.Header.Set("Accept", "text/event-stream")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(t, err)
	t.Cleanup(func() { cancel(); _ = res.Body.Close() })
	return res, bufio.NewReader(res.Body)
}

// nextData reads up to the next message and returns it with its ID.
func nextData(t *testing.T, r *bufio.Reader) (id, data string) {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		require.NoError(t, err)
		if value, ok := strings.CutPrefix(line, "id: "); ok {
			id = strings.TrimSpace(value)
		}
		if value, ok := strings.CutPrefix(line, "data: "); ok {
			return id, strings.TrimSpace(value)
		}
	}
}

func idOf(t *testing.T, data string) string {
	t.Helper()
	var c feed.Change
	require.NoError(t, json.Unmarshal([]byte(data), &c))
	return c.ID
}

// A stream outlasts the server's write timeout while the client reads, and a client that reconnects resumes where it stopped.
func TestChangesAreStreamedAsServerSentEvents(t *testing.T) {
	t.Parallel()
	s := &stub{}
	s.happen(10)
	log := &safeLog{}
	server := operator.New(operator.Options{API: s.api(), Log: slog.New(slog.NewTextHandler(log, nil))})
	server.WriteWithin(300 * time.Millisecond)
	url := listen(t, server)
	res, r := stream(t, url+"/changes?kind=dog")
	require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
	line, err := r.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "retry: 1000\n", line)
	<-time.After(500 * time.Millisecond) // longer than the write timeout
	s.happen(3)
	id, data := nextData(t, r)
	require.Equal(t, "11", idOf(t, data))
	_, data = nextData(t, r)
	require.Equal(t, "13", idOf(t, data))

	_, again := stream(t, url+"/changes?after=now", "Last-Event-ID", id)
	_, data = nextData(t, again)
	require.Equal(t, "12", idOf(t, data))

	full := ask(t, "GET", url+"/changes", "", "Accept", "text/event-stream")
	require.Equal(t, http.StatusServiceUnavailable, full.status)
	require.Equal(t, "too_many_streams", full.Error.Code)
	require.Equal(t, 200, ask(t, "GET", url+"/changes", "").status, "pages go on")
	lost := ask(t, "GET", url+"/changes?after="+feed.Cursor{Epoch: 2, XID: 1}.String(), "", "Accept", "text/event-stream")
	require.Equal(t, http.StatusServiceUnavailable, lost.status)
	require.NotContains(t, log.String(), "ERROR", "nothing is wrong")
	require.Contains(t, log.String(), `level=INFO msg=operator.stream_refused`)
	require.Contains(t, log.String(), `error="too many clients follow the feed"`)
}

func TestAStreamFromALostCursorIsRefused(t *testing.T) {
	t.Parallel()
	_, url := serve(t, operator.Options{API: (&stub{}).api()})
	for range 5 { // refused requests take no slot
		lost := ask(t, "GET", url+"/changes?after="+feed.Cursor{Epoch: 2, XID: 1}.String(), "", "Accept", "text/event-stream")
		require.Equal(t, http.StatusGone, lost.status)
	}
}

// A disconnected client frees its slot immediately, not only when the second heartbeat can't be written.
func TestADisconnectedClientFreesItsStream(t *testing.T) {
	t.Parallel()
	s := &stub{}
	_, url := serve(t, operator.Options{API: s.api()})
	for range 4 {
		require.Eventually(t, func() bool {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel() // disconnects
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/changes", nil)
			require.NoError(t, err)
			req.Header.Set("Accept", "text/event-stream")
			res, err := http.DefaultTransport.RoundTrip(req)
			require.NoError(t, err)
			defer res.Body.Close()
			return res.StatusCode == http.StatusOK
		}, feed.Heartbeat, 10*time.Millisecond)
	}
}

func TestAStopEndsStreamsAtOnce(t *testing.T) {
	t.Parallel()
	s := &stub{}
	server := operator.New(operator.Options{API: s.api()})
	url := listen(t, server)
	_, r := stream(t, url+"/changes")
	_, err := r.ReadString('\n')
	require.NoError(t, err)
	conn := dial(t, url+"/changes")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	require.NoError(t, server.Shutdown(ctx))
	_, err = io.ReadAll(r)
	require.NoError(t, err, "the stream ends as it should")
	_, _, err = conn.ReadMessage()
	require.True(t, websocket.IsCloseError(err, websocket.CloseGoingAway), err)
}

// The server stops reading a client's frames once its stream has ended, because the connection is then reused.
func TestAClosedSocketIsIgnored(t *testing.T) {
	t.Parallel()
	for range 30 {
		server := operator.New(operator.Options{API: (&stub{}).api()})
		conn := dial(t, listen(t, server)+"/changes")
		go func() {
			for conn.WriteMessage(websocket.TextMessage, []byte("and another thing")) == nil {
			}
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		require.NoError(t, server.Shutdown(ctx))
		cancel()
	}
}

func dial(t *testing.T, url string, headers ...string) *websocket.Conn {
	t.Helper()
	header := http.Header{}
	for i := 0; i+1 < len(headers); i += 2 {
		header.Set(headers[i], headers[i+1])
	}
	conn, res, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(url, "http"), header)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestChangesAreSentOverAWebSocket(t *testing.T) {
	t.Parallel()
	tokens, texts := crowd(t)
	s := &stub{}
	s.happen(4)
	_, url := serve(t, operator.Options{API: s.api(), Tokens: tokens})
	conn := dial(t, url+"/changes?after=start&kind=cat", bearer(texts[access.RoleViewer])...)
	for _, want := range []string{"2", "4"} {
		_, data, err := conn.ReadMessage()
		require.NoError(t, err)
		require.Equal(t, want, idOf(t, string(data)))
	}
	s.happen(2)
	_, data, err := conn.ReadMessage()
	require.NoError(t, err)
	require.Equal(t, "6", idOf(t, string(data)))

	for _, refused := range [][]string{
		{},
		append(bearer(texts[access.RoleViewer]), "Origin", "https://evil.example"),
	} {
		header := http.Header{}
		for i := 0; i+1 < len(refused); i += 2 {
			header.Set(refused[i], refused[i+1])
		}
		_, res, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(url, "http")+"/changes", header)
		require.Error(t, err)
		require.GreaterOrEqual(t, res.StatusCode, 400)
		require.NoError(t, res.Body.Close())
	}
}

// slowFeed answers once it is released.
type slowFeed struct {
	feed.Reader

	asked, may chan struct{}
}

func (f slowFeed) Changes(ctx context.Context, after feed.Cursor, limit int) (feed.Page, error) {
	select {
	case f.asked <- struct{}{}:
		<-f.may
	case <-f.may:
	}
	return f.Reader.Changes(ctx, after, limit)
}

// A client that hangs up during the WebSocket handshake takes no follower slot.
func TestAWebSocketThatNeverStoodHoldsNoPlace(t *testing.T) {
	t.Parallel()
	s := &stub{}
	slow := slowFeed{Reader: s, asked: make(chan struct{}), may: make(chan struct{})}
	api := s.api()
	api.Changes, api.Live = slow, feed.NewHub(slow, 1)
	_, url := serve(t, operator.Options{API: api})
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	_, err = io.WriteString(conn, "GET /changes HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	require.NoError(t, err)
	<-slow.asked
	require.NoError(t, conn.(*net.TCPConn).SetLinger(0))
	require.NoError(t, conn.Close())
	close(slow.may)
	require.Eventually(t, func() bool {
		next, res, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(url, "http")+"/changes", nil)
		if res != nil {
			_ = res.Body.Close()
		}
		if err == nil {
			_ = next.Close()
		}
		return err == nil
	}, time.Minute, 100*time.Millisecond)
}
