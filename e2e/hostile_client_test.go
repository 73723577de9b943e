package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// maxConnsPerIP is the limit of connections per address in the test.
const maxConnsPerIP = 300

// polite is a well-behaved client.
type polite struct {
	end  chan struct{}
	done chan error
	sent int
}

// startPolite sends one event after the other until stop.
func (n *node) startPolite(t *testing.T) *polite {
	t.Helper()
	p := &polite{end: make(chan struct{}), done: make(chan error, 1)}
	pace := time.NewTicker(50 * time.Millisecond)
	go func() {
		defer pace.Stop()
		for {
			select {
			case <-p.end:
				p.done <- nil
				return
			case <-pace.C:
			}
			body := fmt.Sprintf(`{"id":%q,"type":"order.paid","data":{"id":"o1"}}`, uniqueID("polite"))
			a, err := n.post("/webhooks/hmac", []byte(body), "X-Signature", "sha256="+hexHMAC(body))
			if err != nil || a.status != 202 {
				p.done <- fmt.Errorf("event %d: status %d, %w", p.sent, a.status, err)
				return
			}
			p.sent++
		}
	}()
	return p
}

// stop returns the number of sent events, all of which were accepted.
func (p *polite) stop(t *testing.T) int {
	t.Helper()
	close(p.end)
	require.NoError(t, <-p.done, "a client that behaves was not served")
	require.NotZero(t, p.sent)
	return p.sent
}

// footprint is a process's resource usage.
type footprint struct {
	memory, goroutines, files int
}

func (f footprint) String() string {
	return fmt.Sprintf("%d MiB, %d goroutines, %d files", f.memory>>20, f.goroutines, f.files)
}

func (n *node) footprint(t *testing.T) (f footprint) {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/", n.command.Process.Pid)
	status, err := os.ReadFile(dir + "status")
	require.NoError(t, err)
	f.memory = numberIn(t, `VmRSS:\s+(\d+) kB`, string(status)) << 10
	files, err := filepath.Glob(dir + "fd/*")
	require.NoError(t, err)
	f.files = len(files)
	f.goroutines = numberIn(t, `(?m)^go_goroutines(?:{.*})? (\d+)`, n.metrics(t))
	return f
}

func numberIn(t *testing.T, pattern, text string) int {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(text)
	require.NotNil(t, found, pattern)
	number, err := strconv.Atoi(found[1])
	require.NoError(t, err)
	return number
}

// settle returns the footprint after the process has done everything once.
func (n *node) settle(t *testing.T) footprint {
	t.Helper()
	for range 200 {
		n.attack(t, threat{id: "warm-up", request: "POST /webhooks/hmac HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n" +
			strings.Repeat("x", 200000), want: "401 unauthenticated"})
	}
	return n.footprint(t)
}

// The allowance around the baseline. Go returns memory to the system with a delay, and the number of pollers and streams of
// Temporal's client varies.
const (
	maxMoreMemory     = 96 << 20
	maxMoreGoroutines = 100
	maxMoreFiles      = 50
)

// assertSettled asserts that the process returns to its baseline.
func (n *node) assertSettled(t *testing.T, before footprint) {
	t.Helper()
	var last footprint
	eventually(t, 3*time.Minute, "the process is as it was", func() error {
		last = n.footprint(t)
		if last.memory > before.memory+maxMoreMemory || last.goroutines > before.goroutines+maxMoreGoroutines ||
			last.files > before.files+maxMoreFiles {
			return fmt.Errorf("it takes %s, before it was %s", last, before)
		}
		return nil
	})
	t.Logf("before: %s; after: %s", before, last)
}

// besiege occupies and abuses connections, each kind from its own addresses, so that the good client keeps its capacity:
//   - bodies that stall, 500 of them, each with its buffer: answered with 408, then closed
//   - headers and bodies that come a byte at a time: the same
//   - a client that sends requests and never reads an answer: disconnected
//   - ten thousand requests on one connection: all are answered
//   - more connections from an address than allowed: refused
func (n *node) besiege(t *testing.T) {
	t.Helper()
	stalled := n.stallBodies(t, 500)
	drips := n.drip(t)
	n.neverRead(t)
	n.manyRequests(t, 10_000)
	n.tooManyConnections(t)
	for name, connection := range drips {
		requireTimedOut(t, name, connection)
	}
	for _, connection := range stalled {
		requireTimedOut(t, "B13 a body that stalls", connection)
	}
}

func (n *node) stallBodies(t *testing.T, count int) (all []*net.TCPConn) {
	t.Helper()
	for k := range count {
		connection := n.dial(t, fmt.Sprintf("127.0.1.%d", 1+k%5))
		_, err := io.WriteString(connection, "POST /webhooks/hmac HTTP/1.1\r\nHost: x\r\nContent-Length: 262144\r\n\r\n{")
		require.NoError(t, err)
		all = append(all, connection)
	}
	return all
}

// drip sends endless input, a byte at a time.
func (n *node) drip(t *testing.T) map[string]*net.TCPConn {
	t.Helper()
	all := map[string]*net.TCPConn{}
	for name, head := range map[string]string{
		"B14 headers, a byte at a time":  "POST /webhooks/hmac HTTP/1.1\r\nHost: x\r\nX: ",
		"B14 a body, a byte at a time":   "POST /webhooks/hmac HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n",
		"B14 a chunk, a byte at a time":  "POST /webhooks/hmac HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n10000\r\n",
		"B08 an extension without end":   "POST /webhooks/hmac HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1;x=",
		"B22 a greeting of TLS":          "\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03",
		"B14 a connection that is quiet": "",
	} {
		connection := n.dial(t, "127.0.2.1")
		_, err := io.WriteString(connection, head)
		require.NoError(t, err)
		if all[name] = connection; head == "" {
			continue
		}
		var stop sync.Once
		ended := make(chan struct{})
		t.Cleanup(func() { stop.Do(func() { close(ended) }) })
		go func() {
			for pace := time.Tick(200 * time.Millisecond); ; {
				select {
				case <-ended:
					return
				case <-pace:
				}
				if _, err := io.WriteString(connection, "x"); err != nil {
					return
				}
			}
		}()
	}
	return all
}

// requireTimedOut waits for the server's timeout answer, and for the end of the connection.
func requireTimedOut(t *testing.T, name string, connection *net.TCPConn) {
	t.Helper()
	defer connection.Close()
	var answer bytes.Buffer
	_, err := io.Copy(&answer, connection)
	var timeout net.Error
	if ok := asTimeout(err, &timeout); ok {
		require.FailNow(t, "the server leaves the connection open", name)
	}
	require.True(t, strings.HasPrefix(answer.String(), "HTTP/1.1 408 "), "%s: %q", name, answer.String())
	require.Contains(t, answer.String(), `"code":"request_timeout"`, name)
}

// neverRead sends requests without reading answers, until the server closes the connection.
func (n *node) neverRead(t *testing.T) {
	t.Helper()
	connection := n.dial(t, "127.0.3.1")
	defer connection.Close()
	require.NoError(t, connection.SetReadBuffer(1))
	many := strings.Repeat("POST /webhooks/hmac HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", 100)
	for {
		if _, err := io.WriteString(connection, many); err != nil {
			var timeout net.Error
			require.False(t, asTimeout(err, &timeout), "B14 the server waits for a reader that does not read")
			return
		}
	}
}

// manyRequests sends requests on one connection.
func (n *node) manyRequests(t *testing.T, count int) {
	t.Helper()
	one := "POST /webhooks/hmac HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx"
	answers := n.exchange(t, "B23", strings.Repeat(one, count)+probe)
	require.Len(t, answers, count+1, "B23 many requests on one connection")
	for _, a := range answers[:count] {
		require.Equal(t, "unauthenticated", a.Error.Code, "B23")
	}
}

// tooManyConnections opens more connections from one address than are allowed.
func (n *node) tooManyConnections(t *testing.T) {
	t.Helper()
	refused := 0
	for k := range maxConnsPerIP + 50 {
		connection := n.dial(t, "127.0.4.1")
		defer connection.Close()
		if k < maxConnsPerIP {
			continue
		}
		answer, _ := io.ReadAll(connection)
		if strings.HasPrefix(string(answer), "HTTP/1.1 429 ") {
			refused++
		}
	}
	require.Equal(t, 50, refused, "B23 connections beyond the limit of an address")
}

func asTimeout(err error, timeout *net.Error) bool {
	e, ok := err.(net.Error) //nolint:errorlint // it comes from the socket, unwrapped
	if ok {
		*timeout = e
	}
	return ok && e.Timeout()
}
