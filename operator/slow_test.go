package operator_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fasthttp/websocket"
	"github.com/stretchr/testify/require"

	"holdfast/event/feed"
	"holdfast/operator"
)

// safeLog collects a server's log.
type safeLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *safeLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *safeLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// wide makes changes that fill the buffers of a connection.
func (s *stub) wide(n int) {
	s.happen(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.changes {
		s.changes[i].EventID = strings.Repeat("x", 2000)
	}
}

// narrow connects with a small buffer, so that unread data soon backs up at the server.
func narrow(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Control: func(_, _ string, c syscall.RawConn) (err error) {
		failed := c.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4<<10) })
		if failed != nil {
			return failed
		}
		return err
	}}
	return dialer.DialContext(ctx, network, address)
}

// slowly follows the feed as events or as a WebSocket; next returns a message, or "" for a line without data.
func slowly(t *testing.T, url string, isSocket bool) (next func() (string, error)) {
	t.Helper()
	if isSocket {
		dialer := websocket.Dialer{NetDialContext: narrow}
		conn, res, err := dialer.Dial("ws"+strings.TrimPrefix(url, "http")+"/changes", nil)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		t.Cleanup(func() { _ = conn.Close() })
		return func() (string, error) {
			_, data, err := conn.ReadMessage()
			return string(data), err
		}
	}
	client := http.Client{Transport: &http.Transport{DialContext: narrow, DisableCompression: true}}
	req, err := http.NewRequestWithContext(t.Context(), "GET", url+"/changes", nil)
	require.NoError(t, err)
	req.Header.Set("Accept", "text/event-stream")
	res, err := client.Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { _ = res.Body.Close() })
	r := bufio.NewReaderSize(res.Body, 4<<10)
	return func() (string, error) {
		line, err := r.ReadString('\n')
		data, _ := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !strings.HasPrefix(line, "data: ") {
			data = ""
		}
		return data, err
	}
}

// A slow client learns how many changes were skipped and after which position; received and skipped changes add up to all.
func TestASlowReaderLearnsWhatWasSkipped(t *testing.T) {
	t.Parallel()
	for name, isSocket := range map[string]bool{"events": false, "a WebSocket": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &stub{}
			api := s.api()
			api.WriteTimeout = time.Minute
			_, url := serve(t, operator.Options{API: api})
			next := slowly(t, url, isSocket)
			const all = 10_000
			s.wide(all)
			fast, err := api.Live.Join(t.Context(), feed.Cursor{}, feed.Filter{}) // its last message comes after the slow one got all
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			require.NoError(t, fast.Run(ctx, func(b feed.Batch) error {
				if b.Next.XID >= all {
					cancel()
				}
				return nil
			}))
			given, skipped := 0, 0
			for given+skipped < all {
				data, err := next()
				require.NoError(t, err, "%d given, %d skipped", given, skipped)
				var m struct {
					ID      string      `json:"id"`
					Skipped int         `json:"skipped"`
					After   feed.Cursor `json:"after"`
				}
				if data == "" || json.Unmarshal([]byte(data), &m) != nil {
					continue
				}
				if m.Skipped > 0 {
					require.EqualValues(t, given+skipped, m.After.XID, "it says where to go on")
				}
				if skipped += m.Skipped; m.ID != "" {
					given++
				}
			}
			require.Positive(t, skipped)
			require.Equal(t, all, given+skipped)
		})
	}
}

// A client that doesn't read at all is disconnected, and its slot is free.
func TestWhoDoesNotReadIsCutOff(t *testing.T) {
	t.Parallel()
	for name, isSocket := range map[string]bool{"events": false, "a WebSocket": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &stub{}
			api := s.api()
			api.Live = feed.NewHub(s, 1)
			api.WriteTimeout = 50 * time.Millisecond
			_, url := serve(t, operator.Options{API: api})
			next := slowly(t, url, isSocket)
			s.wide(10_000)
			require.Eventually(t, func() bool {
				other, err := api.Live.Join(t.Context(), feed.Cursor{}, feed.Filter{})
				if err != nil {
					require.ErrorIs(t, err, feed.ErrTooMany)
					return false
				}
				other.Leave()
				return true
			}, time.Minute, 10*time.Millisecond)
			var err error
			for err == nil {
				_, err = next()
			}
			require.NotErrorIs(t, err, context.DeadlineExceeded)
			if !isSocket {
				require.NotErrorIs(t, err, io.ErrNoProgress)
			}
		})
	}
}
