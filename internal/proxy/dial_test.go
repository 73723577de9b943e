package proxy_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/proxy"
)

// serve starts a proxy that handles each connection with the function, and returns it.
func serve(t *testing.T, scheme string, handle func(net.Conn)) *proxy.Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go handle(conn)
		}
	}()
	return parsed(t, scheme+"://"+listener.Addr().String())
}

func parsed(t *testing.T, address string) *proxy.Proxy {
	t.Helper()
	list, err := proxy.Parse("office=" + address)
	require.NoError(t, err)
	return list[0]
}

// answering returns a handler of HTTP that has one answer to the bad target, and connects to others.
func answering(bad string) func(net.Conn) {
	return func(conn net.Conn) {
		read := bufio.NewReader(conn)
		line, _ := read.ReadString('\n')
		answer := "HTTP/1.1 200 OK\r\n\r\n"
		if line == "CONNECT bad:1 HTTP/1.1\r\n" {
			answer = bad
		}
		_, _ = io.WriteString(conn, answer)
	}
}

// replying does the same for SOCKS5, with a code of the reply. The port of a bad target is 1.
func replying(bad byte) func(net.Conn) {
	return func(conn net.Conn) {
		var greeting [3]byte
		_, _ = io.ReadFull(conn, greeting[:])
		_, _ = conn.Write([]byte{5, 0})
		var request [4 + 1 + 3 + 2]byte // a name of three letters
		_, _ = io.ReadFull(conn, request[:])
		var code byte
		if request[9] == 1 {
			code = bad
		}
		_, _ = conn.Write([]byte{5, code, 0, 1, 0, 0, 0, 0, 0, 0})
	}
}

func dial(ctx context.Context, p *proxy.Proxy, target string) error {
	conn, err := p.Dial(ctx, target, 0)
	if err == nil {
		_ = conn.Close()
	}
	return err
}

// What one target causes keeps no other from connecting through the same proxy.
func TestATargetCanNotTakeAProxyDown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		scheme string
		handle func(net.Conn)
		fault  proxy.Fault
	}{
		"400, squid's answer to port 0": {"http", answering("HTTP/1.1 400 Bad Request\r\n\r\n"), proxy.FaultRule},
		"429":                           {"http", answering("HTTP/1.1 429 Too Many Requests\r\n\r\n"), proxy.FaultProxy},
		"405":                           {"http", answering("HTTP/1.1 405 Method Not Allowed\r\n\r\n"), proxy.FaultProxy},
		"503":                           {"http", answering("HTTP/1.1 503 Service Unavailable\r\n\r\n"), proxy.FaultTarget},
		"it speaks first":               {"http", answering("HTTP/1.1 200 OK\r\n\r\nSSH-2.0-OpenSSH_9.9\r\n"), proxy.FaultTarget},
		"no answer":                     {"http", answering(""), proxy.FaultTarget},
		"reply 7":                       {"socks5", replying(7), proxy.FaultRule},
		"reply 8":                       {"socks5", replying(8), proxy.FaultTarget},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t, c.scheme, c.handle)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			var failed *proxy.Error
			require.ErrorAs(t, dial(ctx, p, "bad:1"), &failed)
			require.Equal(t, c.fault, failed.Fault, failed)
			require.NoError(t, dial(t.Context(), p, "got:2"))
		})
	}
}

// A caller with too little time learns nothing about the proxy: neither while it connects, nor during the greeting of SOCKS5.
func TestACallerWithoutTimeDoesNotTakeAProxyDown(t *testing.T) {
	t.Parallel()
	slow := func(handle func(net.Conn)) func(net.Conn) {
		return func(conn net.Conn) { <-time.After(200 * time.Millisecond); handle(conn) }
	}
	for name, p := range map[string]*proxy.Proxy{
		"http": serve(t, "http", slow(answering(""))), "socks5": serve(t, "socks5", slow(replying(0))),
		"TLS": serve(t, "https", slow(func(conn net.Conn) { _ = conn.Close() })),
	} {
		for _, timeout := range []time.Duration{time.Nanosecond, 50 * time.Millisecond} {
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			var failed *proxy.Error
			require.ErrorAs(t, dial(ctx, p, "got:2"), &failed, name)
			cancel()
			require.Equal(t, proxy.FaultTarget, failed.Fault, "%s: %s", name, failed)
			require.ErrorIs(t, failed, context.DeadlineExceeded, name)
		}
		if name != "TLS" {
			require.NoError(t, dial(t.Context(), p, "got:2"), name)
		}
	}
}

// A proxy that nothing can use isn't tried by others. Its share of the time bounds a target, not the connection to the proxy.
func TestAProxyThatCanNotBeUsedRests(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	for name, p := range map[string]*proxy.Proxy{
		"refused": parsed(t, "http://"+closed.Addr().String()), "no such name": parsed(t, "http://proxy.invalid"),
		"407":      serve(t, "http", answering("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")),
		"no TLS":   serve(t, "https", answering("")),
		"no SOCKS": serve(t, "socks5", func(conn net.Conn) { _, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n") }),
	} {
		var first, second *proxy.Error
		require.ErrorAs(t, dial(t.Context(), p, "bad:1"), &first, name)
		require.Equal(t, proxy.FaultProxy, first.Fault, name)
		require.ErrorAs(t, dial(t.Context(), p, "got:2"), &second, name)
		require.Same(t, first, second, name)
	}
}
