package ingress

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"holdfast/ingress/intake"
	"holdfast/ingress/limits"
	"holdfast/providers/decode"
)

const mib = 1 << 20

// A body that ends early isn't complete, however it says where it ends: fasthttp's streams take the end of the connection for the
// end of the body.
func TestABodyThatBreaksOff(t *testing.T) {
	t.Parallel()
	d := openDoor(t, "name: homemade\nextends: token\nkey: {hash: bytes, unsigned: it is a test}\n")
	const head = "POST /webhooks/homemade HTTP/1.1\r\nHost: x\r\nX-Webhook-Token: " + secret + "\r\nContent-Type: application/json\r\n"
	const body = `{"type":"order.paid"}`
	require.Contains(t, d.raw(t, head+"Connection: close\r\nContent-Length: 21\r\n\r\n"+body), "HTTP/1.1 202 ")
	for name, rest := range map[string]string{
		"before its length":  "Content-Length: 22\r\n\r\n" + body,
		"between its chunks": "Transfer-Encoding: chunked\r\n\r\n15\r\n" + body + "\r\n",
		"within a chunk":     "Transfer-Encoding: chunked\r\n\r\n20\r\n" + body,
		"within a size":      "Transfer-Encoding: chunked\r\n\r\n15\r\n" + body + "\r\n1",
		"in its last chunk":  "Transfer-Encoding: chunked\r\n\r\n15\r\n" + body + "\r\n0",
	} {
		connection, err := net.Dial("tcp", strings.TrimPrefix(d.url, "http://"))
		require.NoError(t, err)
		_, err = io.WriteString(connection, head+rest)
		require.NoError(t, err)
		require.NoError(t, connection.(*net.TCPConn).CloseWrite())
		answer, err := io.ReadAll(connection)
		require.NoError(t, err)
		require.NoError(t, connection.Close())
		require.Contains(t, string(answer), "HTTP/1.1 400 ", name)
	}
	require.Len(t, d.receipts("homemade"), 1)
}

// After the timeout a body may go on at the minimum rate. One that stops, or is slower, gets 408.
func TestALargeBodyMayTakeLongerThanTheTimeout(t *testing.T) {
	t.Parallel()
	read := func(every time.Duration) error {
		client, server := net.Pipe()
		t.Cleanup(func() { _, _ = client.Close(), server.Close() })
		late := lateConn{Conn: server}
		body := incomingBody{
			stream: &steps{step: 64 << 10, every: every, conn: &late}, conn: &late, declared: 3 * mib, limit: 3 * mib,
			memory: limits.NewBodies(64*mib).ForClient(netip.Addr{}, 3*mib), grace: 10 * time.Second,
		}
		defer body.free()
		return body.read()
	}
	require.NoError(t, read(900*time.Millisecond), "it takes 43 s")
	require.Equal(t, codeTimeout, unreadCode(read(1300*time.Millisecond)), "it would take 62 s")
}

// lateConn remembers its deadline.
type lateConn struct {
	net.Conn

	deadline time.Time
}

func (c *lateConn) SetReadDeadline(at time.Time) error {
	c.deadline = at
	return nil
}

// steps is a body of which a step arrives at every span of a time that it only counts.
type steps struct {
	step  int
	every time.Duration
	conn  *lateConn
	began time.Time
	took  time.Duration
	rest  int
}

func (s *steps) Read(p []byte) (int, error) {
	if s.began.IsZero() {
		s.began = time.Now()
	}
	if s.rest == 0 {
		s.rest, s.took = s.step, s.took+s.every
	}
	if s.began.Add(s.took).After(s.conn.deadline) {
		return 0, timeoutError{}
	}
	n := min(len(p), s.rest)
	s.rest -= n
	return n, nil
}

type timeoutError struct{}

func (timeoutError) Error() string   { return "late" }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }

// A large body waits while another is decoded; a small one never does.
func TestLargeBodiesAreDecodedInTurns(t *testing.T) {
	d := openDoor(t, "")
	done, err := decode.Turn(t.Context(), 25*mib)
	require.NoError(t, err)
	large := make(chan reply, 1)
	go func() { //nolint:testifylint // a failed assertion ends this goroutine, and the test fails for want of a reply
		large <- d.deliver(t, "gocardless", "/webhooks/gocardless", largeBatch(mib), true)
	}()
	require.Equal(t, http.StatusAccepted, d.deliver(t, "stripe", "/webhooks/stripe", note, true).status)
	select {
	case r := <-large:
		t.Fatalf("it was decoded next to another: %s", r.raw)
	default:
	}
	done()
	require.NotEqual(t, http.StatusServiceUnavailable, (<-large).status)
}

// So does a body that is large only once it is decompressed. If its turn doesn't come in time, its sender tries again.
func TestDecompressedBodiesAreDecodedInTurns(t *testing.T) {
	noise := make([]byte, mib/2)
	_, _ = rand.Read(noise)
	body := `{"type":"a.b","id":"1","note":"` + hex.EncodeToString(noise) + `"}`
	packed := zipped(t, body)
	for signed, covered := range map[string]string{"plain": body, "wire": string(packed)} {
		d := openDoor(t, packing+signed+"\n", func(o *Options, in *intake.Options) {
			o.BodyLimit, o.BodyTimeout, in.Inbox = 2*mib, 4*time.Second, instantInbox{}
		})
		done, err := decode.Turn(t.Context(), 25*mib-len(packed))
		require.NoError(t, err)
		require.Equal(t, http.StatusServiceUnavailable, d.send(t, "homemade", covered, packed, "content-encoding", "gzip").status, signed)
		done()
		require.Equal(t, http.StatusAccepted, d.send(t, "homemade", covered, packed, "content-encoding", "gzip").status, signed)
		require.Eventually(t, func() bool { return d.server.bodies.Held() == 0 }, 10*time.Second, time.Millisecond)
	}
}

// Senders that hang up at any point of a request hold nothing afterwards.
func TestAbortedUploadsHoldNothing(t *testing.T) {
	t.Parallel()
	d := openDoor(t, "")
	const chunkedHead = "POST /webhooks/gocardless HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
	const head = "POST /webhooks/gocardless HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n"
	whole := "POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
	piece := strings.Repeat("x", 20<<10)
	requests := []string{
		head, head + "\r\n", head + "\r\n" + piece, head + "Expect: 100-continue\r\n\r\n", head + "Expect: 100-continue\r\n\r\n" + piece,
		chunkedHead, chunkedHead + "5000\r\n" + piece, chunkedHead + "5000\r\n" + piece + "\r\n", chunkedHead + "zz\r\n",
		chunkedHead + "1\r\nx\r\n0\r\nTrailer: x", whole + head + "\r\n" + piece, whole + whole + chunkedHead + "5000\r\n" + piece,
	}
	var all errgroup.Group
	all.SetLimit(50)
	for n := range 10_000 {
		all.Go(func() error {
			connection, err := net.Dial("tcp", strings.TrimPrefix(d.url, "http://"))
			if err != nil {
				return err
			}
			_, _ = io.WriteString(connection, requests[n%len(requests)])
			if n%2 == 0 {
				_ = connection.(*net.TCPConn).SetLinger(0) //nolint:forcetypeassert // it is TCP
			}
			return connection.Close()
		})
	}
	require.NoError(t, all.Wait())
	require.Eventually(t, func() bool { return d.server.bodies.Held() == 0 && d.server.inflight.Load() == 0 }, time.Minute, time.Millisecond)
}

func largeBatch(size int) string {
	return `{"events":[{"id":"EV1","note":"` + strings.Repeat("x", size) + `"}]}`
}

// Strangers who send large bodies use what large bodies may, and no more, while small requests go on. What they held is released.
func TestStrangersNextToASmallStream(t *testing.T) {
	const memory, strangers, smalls = 16 * mib, 40, 60
	d := openDoor(t, "", func(o *Options, _ *intake.Options) {
		o.BodyMemory, o.TrustedProxies = memory, []string{"127.0.0.0/8"}
	})
	var most atomic.Int64
	watch := func() {
		for held := int64(d.server.bodies.Held()); ; {
			if last := most.Load(); held <= last || most.CompareAndSwap(last, held) {
				return
			}
		}
	}
	var all sync.WaitGroup
	var full, unauthentic atomic.Int64
	for n := range strangers {
		all.Go(func() {
			switch status := d.stranger(t, n, watch); status {
			case http.StatusServiceUnavailable:
				full.Add(1)
			case 498: // GoCardless's status for a bad signature
				unauthentic.Add(1)
			default:
				t.Error(status)
			}
		})
	}
	for n := range smalls {
		body := fmt.Sprintf(`{"type":"note.written","timestamp":"2026-01-01T00:00:00Z","data":{"id":"note_%d"}}`, n)
		require.Equal(t, http.StatusAccepted, d.deliver(t, "stripe", "/webhooks/stripe", body, true).status)
		watch()
	}
	all.Wait()
	require.Len(t, d.receipts("stripe"), smalls)
	require.Empty(t, d.receipts("gocardless"))
	require.LessOrEqual(t, most.Load(), int64(memory))
	require.Positive(t, full.Load(), "they would have held %d bytes", strangers*2*mib)
	require.EqualValues(t, strangers, full.Load()+unauthentic.Load())
	require.Eventually(t, func() bool { return d.server.bodies.Held() == 0 }, 10*time.Second, time.Millisecond)
}

// stranger sends 2 MiB without a signature, half of them in chunks, and returns the status.
func (d *door) stranger(t *testing.T, n int, watch func()) int {
	connection, err := net.Dial("tcp", strings.TrimPrefix(d.url, "http://"))
	if err != nil {
		t.Error(err)
		return 0
	}
	defer func() { _ = connection.Close() }()
	head, piece := fmt.Sprintf("Content-Length: %d", 2*mib), bytes.Repeat([]byte("x"), 64<<10)
	isChunked := n%2 == 0
	if isChunked {
		head = "Transfer-Encoding: chunked"
	}
	fmt.Fprintf(connection, "POST /webhooks/gocardless HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 10.1.0.%d\r\n%s\r\n\r\n", n/4, head)
	for range 2 * mib / len(piece) {
		if isChunked {
			fmt.Fprintf(connection, "%x\r\n%s\r\n", len(piece), piece)
		} else {
			_, _ = connection.Write(piece)
		}
		watch()
	}
	if isChunked {
		_, _ = io.WriteString(connection, "0\r\n\r\n")
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Error(err)
		return 0
	}
	if response.StatusCode == http.StatusServiceUnavailable && response.Header.Get("Retry-After") == "" {
		t.Error("a 503 without Retry-After")
	}
	return response.StatusCode
}
