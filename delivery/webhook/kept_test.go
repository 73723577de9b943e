package webhook

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"holdfast/delivery"
)

// keeper is an endpoint that closes its first connection when the second request comes on it.
type keeper struct {
	fall

	address string
	got     chan request
	made    atomic.Int32
}

// fall is how it closes the connection.
type fall struct {
	// whole makes the endpoint read a second request before it closes the connection.
	whole bool
	// answer is what it says to that request before it closes.
	answer string
	// refuse closes all connections but the first without an answer.
	refuse bool
}

func newKeeper(t *testing.T, f fall) *keeper {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	k := &keeper{fall: f, address: "http://" + listener.Addr().String(), got: make(chan request, 100)}
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go k.serve(c, int(k.made.Add(1)))
		}
	}()
	return k
}

func (k *keeper) serve(c net.Conn, number int) {
	defer func() { _ = c.Close() }()
	from := bufio.NewReader(c)
	for nth := 1; ; nth++ {
		r, err := http.ReadRequest(from)
		if err != nil {
			return
		}
		if number == 1 && nth == 2 && !k.whole {
			return // the rest of the request is never read: the connection is reset
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		k.got <- request{r, body}
		if number == 1 && nth == 2 {
			say(c, k.answer)
			return
		}
		if number > 1 && k.refuse {
			return
		}
		say(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	}
}

// A request that meets an endpoint just closing its connection is sent again at once on a new one: one attempt, with the same ID and
// a signature of its own. A large one, too, of which the endpoint has read only the beginning.
func TestAKeptConnectionThatTheEndpointIsClosing(t *testing.T) {
	t.Parallel()
	large := messageOf(`{"a": "` + string(make([]byte, 8<<20)) + `"}`)
	for name, c := range map[string]struct {
		fall
		message delivery.Message
	}{
		"read":      {fall{whole: true}, messageOf(`{}`)},
		"half read": {fall{}, large},
	} {
		k := newKeeper(t, c.fall)
		s := newTestSender(t)
		var seconds atomic.Int64
		s.now = func() time.Time { return time.Now().Add(time.Duration(seconds.Add(1)) * time.Second) }
		first := s.Send(t.Context(), to(k.address), jobOf(0), messageOf(`{}`))
		require.Equal(t, delivery.OK, first.Kind, name)
		require.False(t, first.Resent)
		<-k.got

		result := s.Send(t.Context(), to(k.address), jobOf(0), c.message)
		require.Equal(t, delivery.OK, result.Kind, "%s: %s", name, result.Error)
		require.Equal(t, "ok", string(result.Answer))
		require.True(t, result.Resent)
		require.Equal(t, delivery.Reached, result.Reach)
		require.EqualValues(t, 2, k.made.Load())
		var seen []request
		for len(k.got) > 0 {
			seen = append(seen, <-k.got)
		}
		byTheBook, err := standardwebhooks.NewWebhook(newestSecret)
		require.NoError(t, err)
		times := map[string]bool{}
		for _, r := range seen {
			require.Equal(t, eventID, r.Header.Get("Webhook-Id"))
			require.NoError(t, byTheBook.Verify(r.body, r.Header))
			times[r.Header.Get("Webhook-Timestamp")] = true
		}
		require.Len(t, times, len(seen), "each has its own signature")
	}
}

// It is sent a second time only if nothing was answered, and never a third time. A new connection that fails is the endpoint's failure.
func TestRequestsThatAreNotSentAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fall
		code   string
		made   int32
		resent bool
	}{
		"the new one fails, too":     {fall{whole: true, refuse: true}, "connection", 2, true},
		"a byte was answered":        {fall{whole: true, answer: "H"}, "connection", 1, false},
		"a status was answered":      {fall{whole: true, answer: "HTTP/1.1 500 No\r\n"}, "500", 1, false},
		"a success that breaks down": {fall{whole: true, answer: "HTTP/1.1 200 OK\r\nX: y\r\n"}, "200", 1, false},
	} {
		k := newKeeper(t, c.fall)
		s := newTestSender(t)
		require.Equal(t, delivery.OK, s.Send(t.Context(), to(k.address), jobOf(0), messageOf(`{}`)).Kind)
		result := s.Send(t.Context(), to(k.address), jobOf(0), messageOf(`{}`))
		require.Equal(t, c.code, result.Code, name)
		require.Equal(t, c.made, k.made.Load(), name)
		require.Equal(t, c.resent, result.Resent, name)
		require.Equal(t, delivery.Reached, result.Reach, name)
	}
	fresh := newRawServer(t, false, func(net.Conn) {})
	result := newTestSender(t).Send(t.Context(), to("http://"+fresh), jobOf(0), messageOf(`{}`))
	require.Equal(t, "connection", result.Code)
	require.False(t, result.Resent)
}

// A kept connection on which nothing comes back shows nothing: the host may be slow, or the network may have gone since the last
// request.
func TestASilentKeptConnectionShowsNoReach(t *testing.T) {
	t.Parallel()
	silent := make(chan struct{})
	t.Cleanup(func() { close(silent) })
	asked := atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if asked.Add(1) > 1 {
			<-silent
		}
	}))
	t.Cleanup(server.CloseClientConnections)
	s := newTestSender(t)
	require.Equal(t, delivery.OK, s.Send(t.Context(), to(server.URL), jobOf(0), messageOf(`{}`)).Kind)
	for _, want := range []delivery.Reach{delivery.ReachUnknown, delivery.Reached} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		result := s.Send(ctx, to(server.URL), jobOf(0), messageOf(`{}`))
		cancel()
		require.Equal(t, "timeout", result.Code)
		require.Equal(t, want, result.Reach, "the second connection is new")
	}
	require.EqualValues(t, 3, asked.Load())
}

// Over HTTP/2 the rule is the same for a connection that is lost. A stream that the endpoint resets is its answer to this request.
func TestAKeptHTTP2Connection(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	for name, c := range map[string]struct {
		fall   func(http.ResponseWriter, *http.Request)
		kind   delivery.Kind
		resent bool
	}{
		"lost": {func(_ http.ResponseWriter, r *http.Request) {
			_ = r.Context().Value(connKey{}).(net.Conn).Close()
		}, delivery.OK, true},
		"a reset stream": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, delivery.Bad, false},
	} {
		var asked, made atomic.Int32
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if asked.Add(1) == 2 {
				c.fall(w, r)
			}
		}))
		server.TLS = newTLSEndpointConfig(a.sign(nil))
		server.EnableHTTP2 = true
		server.Config.ErrorLog = discarded()
		server.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
			made.Add(1)
			return context.WithValue(ctx, connKey{}, c)
		}
		server.StartTLS()
		t.Cleanup(server.Close)
		folder := t.TempDir()
		target := to(server.URL)
		target.Destination.HTTP.CA = a.file(folder + "/ca.pem")
		s := newTestSender(t, folder)
		require.Equal(t, delivery.OK, s.Send(t.Context(), target, jobOf(0), messageOf(`{}`)).Kind, name)
		result := s.Send(t.Context(), target, jobOf(0), messageOf(`{}`))
		require.Equal(t, c.kind, result.Kind, "%s: %s", name, result.Error)
		require.Equal(t, c.resent, result.Resent, name)
		require.Equal(t, c.resent, made.Load() == 2, name)
	}
}

type connKey struct{}
