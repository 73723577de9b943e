package webhook

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
)

func discarded() *log.Logger { return log.New(io.Discard, "", 0) }

// newRawServer answers each connection in its own way, once the request was read (or not, if early is set).
func newRawServer(t *testing.T, early bool, answer func(c net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				if !early {
					r, err := http.ReadRequest(bufio.NewReader(c))
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, r.Body)
				}
				answer(c)
			}()
		}
	}()
	return listener.Addr().String()
}

// say writes until the sender has hung up.
func say(c net.Conn, text string) bool {
	_, err := io.WriteString(c, text)
	return err == nil
}

// untilHungUp reads what never comes.
func untilHungUp(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

// reset closes a connection as a process does that dies.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
}

// forever says something again and again.
func forever(c net.Conn, text string) {
	for say(c, text) {
		runtime.Gosched()
	}
}

func dripping(c net.Conn, text string) {
	drop := time.NewTicker(20 * time.Millisecond)
	defer drop.Stop()
	for say(c, text) {
		<-drop.C
	}
}

func bomb() string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	zeros := make([]byte, 1<<20)
	for range 100 {
		_, _ = w.Write(zeros)
	}
	_ = w.Close()
	return b.String()
}

// Whatever an endpoint responds, an attempt ends in bounded time and memory. Its result contains no address, payload or secret,
// and the sender still works for others.
func TestHostileReceivers(t *testing.T) {
	t.Parallel()
	packed := bomb()
	const head = "HTTP/1.1 200 OK\r\n"
	for _, c := range []struct {
		name  string
		early bool
		say   func(net.Conn)
		kind  delivery.Kind
		code  string
		error string
	}{
		{name: "no answer", say: untilHungUp, kind: delivery.Bad, code: "timeout", error: "no response in time"},
		{name: "hangs up", say: func(net.Conn) {}, kind: delivery.Bad, code: "connection",
			error: "connection closed by the endpoint before it answered"},
		{name: "hangs up before the request", early: true, say: func(net.Conn) {}, kind: delivery.Bad, code: "connection"},
		{name: "resets", say: reset, kind: delivery.Bad, code: "connection", error: "connection reset by the endpoint before it answered"},
		{name: "half a status line", say: func(c net.Conn) { say(c, "HTTP/1.1 2"); untilHungUp(c) }, kind: delivery.Bad, code: "timeout"},
		{name: "half a head", say: func(c net.Conn) { say(c, head+"X: y\r\n") }, kind: delivery.OK, code: "200"},
		{name: "a head that drips", say: func(c net.Conn) { say(c, head); dripping(c, "X: y\r\n") }, kind: delivery.OK, code: "200"},
		{name: "a head without end", say: func(c net.Conn) { say(c, head); forever(c, "X: "+strings.Repeat("y", 1000)+"\r\n") },
			kind: delivery.OK, code: "200"},
		{name: "a header line without end", say: func(c net.Conn) { say(c, head+"X: "); forever(c, strings.Repeat("y", 1000)) },
			kind: delivery.OK, code: "200"},
		{name: "no HTTP", say: func(c net.Conn) { say(c, "220 mail.example.com ESMTP\r\n") }, kind: delivery.Bad, code: "connection"},
		{name: "NUL in the head", say: func(c net.Conn) { say(c, head+"X: \x00\r\n\r\n") }, kind: delivery.OK, code: "200"},
		{name: "a failure with a NUL in the head", say: func(c net.Conn) { say(c, "HTTP/1.0 503 No\r\nX: \x00\r\n\r\n") },
			kind: delivery.Slow, code: "503"},
		{name: "an encoding that changes nothing", say: func(c net.Conn) {
			say(c, "HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n"+head+"Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\nok")
		}, kind: delivery.OK, code: "200"},
		{name: "a status that is none", say: func(c net.Conn) { say(c, "HTTP/1.1 20x OK\r\nX: \x00\r\n\r\n") },
			kind: delivery.Bad, code: "connection"},
		{name: "a flood of 100", say: func(c net.Conn) { forever(c, "HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n") },
			kind: delivery.Bad, code: "connection"},
		{name: "a few of 100", say: func(c net.Conn) {
			say(c, strings.Repeat("HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n", 3)+head+"Content-Length: 0\r\n\r\n")
		}, kind: delivery.OK, code: "200"},
		{name: "another protocol", say: func(c net.Conn) {
			say(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
			untilHungUp(c)
		}, kind: delivery.Bad, code: "101"},
		{name: "204 with a body", say: func(c net.Conn) { say(c, "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello") },
			kind: delivery.OK, code: "204"},
		{name: "two lengths", say: func(c net.Conn) { say(c, head+"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab") },
			kind: delivery.OK, code: "200"},
		{name: "less than announced", say: func(c net.Conn) { say(c, head+"Content-Length: 100\r\n\r\nab") },
			kind: delivery.OK, code: "200"},
		{name: "a reset amid the body", say: func(c net.Conn) { say(c, head+"Content-Length: 100\r\n\r\nab"); reset(c) },
			kind: delivery.OK, code: "200"},
		{name: "chunks that are none", say: func(c net.Conn) { say(c, head+"Transfer-Encoding: chunked\r\n\r\nzz\r\n") },
			kind: delivery.OK, code: "200"},
		{name: "a body that drips", say: func(c net.Conn) { say(c, head+"Content-Length: 1000000\r\n\r\n"); dripping(c, "a") },
			kind: delivery.OK, code: "200"},
		{name: "a failure that drips", say: func(c net.Conn) {
			say(c, "HTTP/1.1 503 No\r\nRetry-After: 7\r\nContent-Length: 1000000\r\n\r\n")
			dripping(c, "a")
		}, kind: delivery.Busy, code: "503"},
		{name: "10 GB", say: func(c net.Conn) {
			say(c, head+"Content-Length: 10737418240\r\n\r\n")
			forever(c, strings.Repeat("a", 1<<16))
		},
			kind: delivery.OK, code: "200"},
		{name: "chunks without end", say: func(c net.Conn) {
			say(c, head+"Transfer-Encoding: chunked\r\n\r\n")
			forever(c, "400\r\n"+strings.Repeat("a", 1024)+"\r\n")
		}, kind: delivery.OK, code: "200"},
		{name: "a bomb", say: func(c net.Conn) {
			say(c, head+fmt.Sprintf("Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", len(packed), packed))
		}, kind: delivery.OK, code: "200"},
		{name: "NUL and what is no text", say: func(c net.Conn) { say(c, head+"Content-Length: 3\r\n\r\n\x00\xff\xfe") },
			kind: delivery.OK, code: "200"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			address := newRawServer(t, c.early, c.say)
			s := newTestSender(t)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			target := to("http://" + address + "/hooks?token=hidden")
			result := s.Send(ctx, target, jobOf(0), messageOf(`{"payload": "hidden"}`))
			require.Equal(t, c.code, result.Code, result.Error)
			require.Equal(t, c.kind, result.Kind)
			require.Contains(t, result.Error, c.error)
			require.LessOrEqual(t, len(result.Answer), delivery.MaxAnswer)
			for _, hidden := range []string{"hidden", address, "127.0.0.1", newestSecret, "whsec"} {
				require.NotContains(t, result.Error, hidden)
			}

			healthy := newEndpoint(t, nil)
			healthy.deliver(t, s, to(healthy.URL), messageOf(`{}`))
		})
	}
}

// An endpoint with a slow response body delays an attempt only briefly, whatever the timeout.
func TestABodyThatDripsIsLeft(t *testing.T) {
	t.Parallel()
	left := make(chan struct{})
	address := newRawServer(t, false, func(c net.Conn) {
		say(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nfirst")
		untilHungUp(c)
		close(left)
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	result := newTestSender(t).Send(ctx, to("http://"+address), jobOf(0), messageOf(`{}`))
	require.Equal(t, delivery.OK, result.Kind)
	require.Equal(t, "first", string(result.Answer))
	<-left
}

// A handshake that is not finished ends with the attempt, and so does a process that stops.
func TestAHandshakeThatStandsStill(t *testing.T) {
	t.Parallel()
	address := newRawServer(t, true, untilHungUp)
	s := newTestSender(t)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	result := s.Send(ctx, to("https://"+address), jobOf(0), messageOf(`{}`))
	require.Equal(t, "timeout", result.Code)
	require.Equal(t, delivery.Bad, result.Kind)
	require.Equal(t, "the TLS handshake didn't end in time", result.Error)
	require.Equal(t, delivery.Reached, result.Reach)

	ctx, stop := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, stop)
	result = s.Send(ctx, to("https://"+address), jobOf(0), messageOf(`{}`))
	require.Equal(t, "stopped", result.Code)
	require.Equal(t, delivery.Ours, result.Kind)
}

// The port is closed; the name doesn't exist.
func TestNobodyIsThere(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	result := newTestSender(t).Send(t.Context(), to("http://"+address), jobOf(0), messageOf(`{}`))
	require.Equal(t, delivery.Bad, result.Kind)
	require.Equal(t, "connection", result.Code)
	require.Equal(t, "connection refused: nothing listens at that address and port", result.Error)
	require.Equal(t, delivery.Reached, result.Reach, "its host has refused it")

	result = newTestSender(t).Send(t.Context(), to("http://nowhere.invalid"), jobOf(0), messageOf(`{}`))
	require.Equal(t, "dns", result.Code)
	require.Equal(t, delivery.Unreached, result.Reach)
	private := NewSender(SenderOptions{})
	t.Cleanup(private.Close)
	result = private.Send(t.Context(), to("http://"+address), jobOf(0), messageOf(`{}`))
	require.Equal(t, "private_address", result.Code)
	require.Equal(t, delivery.ReachUnknown, result.Reach)
}
