package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/fasthttp/websocket"
	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"holdfast/event/feed"
	"holdfast/operator/httpapi"
)

// Gap reports to a slow follower that changes after a position were skipped.
type Gap struct {
	Skipped int         `json:"skipped"`
	After   feed.Cursor `json:"after"`
}

// resync reports to a follower that its position is no longer in the feed.
type resync struct {
	Resync string `json:"resync"`
}

// sendEvents sends changes as server-sent events until the client disconnects. Each write has its own deadline, since the
// server's is for a whole response.
func sendEvents(c *fiber.Ctx, who *feed.Follower, writeTimeout time.Duration) error {
	c.Set(fiber.HeaderContentType, eventStream)
	c.Set("X-Accel-Buffering", "no")
	c.Context().Response.Header.SetConnectionClose() // AwaitClose would read the next request
	conn := c.Context().Conn()
	c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
		ctx, cancel := context.WithTimeout(context.Background(), streamTime)
		defer cancel()
		go httpapi.AwaitClose(conn, cancel)
		s := &eventWriter{Writer: w}
		flush := func() error {
			if err := conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
				return err
			}
			return w.Flush()
		}
		s.line("retry", "1000")
		err := who.Run(ctx, func(b feed.Batch) error {
			s.batch(b)
			return flush()
		})
		if errors.Is(err, feed.ErrResync) {
			s.message("resync", "", resync{Resync: err.Error()})
		}
		_ = flush() // the client is gone
	})
	return nil
}

// eventWriter writes server-sent events. Errors surface on flush.
type eventWriter struct {
	*bufio.Writer

	last feed.Cursor
}

func (w *eventWriter) line(name, value string) { fmt.Fprintf(w, "%s: %s\n", name, value) }

func (w *eventWriter) message(name, id string, data any) {
	if name != "" {
		w.line("event", name)
	}
	if id != "" {
		w.line("id", id)
	}
	text, err := json.Marshal(data)
	if err != nil {
		return // writing text and numbers never fails
	}
	w.line("data", string(text))
	_ = w.WriteByte('\n')
}

// batch ends with its position, so that a client that reconnects doesn't read again what its filter dropped.
func (w *eventWriter) batch(b feed.Batch) {
	for _, c := range b.Items {
		w.last = c.Cursor
		w.message("", c.Cursor.String(), c)
	}
	if b.Skipped > 0 {
		w.message("skipped", "", Gap{Skipped: b.Skipped, After: w.last})
	}
	if b.Next != (feed.Cursor{}) {
		w.last = b.Next
		w.line("id", b.Next.String())
	}
	_, _ = w.WriteString(":\n\n")
}

// Browsers can't send headers with a WebSocket. They ask for two subprotocols instead: changesProtocol, which the server
// selects, and TokenProtocol followed by a token.
const (
	changesProtocol = "holdfast.changes"
	TokenProtocol   = "holdfast.token."
)

// upgrader accepts any origin: the gate has checked it.
var upgrader = websocket.FastHTTPUpgrader{
	HandshakeTimeout: streamWriteTimeout, Subprotocols: []string{changesProtocol},
	CheckOrigin: func(*fasthttp.RequestCtx) bool { return true },
	Error:       func(ctx *fasthttp.RequestCtx, _ int, _ error) { ctx.SetStatusCode(fiber.StatusBadRequest) },
}

// maxFrame bounds incoming frames: only replies to pings are expected.
const maxFrame = 4 << 10

// sendSocket sends changes as WebSocket messages. The upgrade doesn't report a connection that breaks during the handshake, so
// its follower leaves after streamWriteTimeout.
func sendSocket(c *fiber.Ctx, who *feed.Follower, writeTimeout time.Duration) error {
	late := time.AfterFunc(streamWriteTimeout, who.Leave)
	err := upgrader.Upgrade(c.Context(), func(conn *websocket.Conn) {
		if !late.Stop() {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), streamTime)
		defer cancel()
		defer listenTo(conn, cancel)()
		last := feed.Cursor{}
		err := who.Run(ctx, func(b feed.Batch) error {
			defer func() { last = b.Next }()
			return sendFrames(conn, b, last, writeTimeout)
		})
		code, why := websocket.CloseGoingAway, "come again"
		if errors.Is(err, feed.ErrResync) {
			code, why = websocket.CloseNormalClosure, "resync"
			_ = conn.WriteJSON(resync{Resync: err.Error()})
		}
		_ = conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, why), time.Now().Add(time.Second))
	})
	if err != nil {
		late.Stop()
		who.Leave()
		return httpapi.Refuse(httpapi.CodeBadRequest)
	}
	return nil
}

func sendFrames(conn *websocket.Conn, b feed.Batch, last feed.Cursor, writeTimeout time.Duration) error {
	deadline := time.Now().Add(writeTimeout)
	if err := conn.SetWriteDeadline(deadline); err != nil {
		return err
	}
	for _, c := range b.Items {
		if last = c.Cursor; conn.WriteJSON(c) != nil {
			return errGone
		}
	}
	if b.Skipped > 0 && conn.WriteJSON(Gap{Skipped: b.Skipped, After: last}) != nil {
		return errGone
	}
	return conn.WriteControl(websocket.PingMessage, nil, deadline)
}

var errGone = errors.New("the client has stopped reading")

// listenTo reads incoming frames, replies to pings, and calls gone when the client disconnects. stop waits until it has ended,
// since the connection is then reused.
func listenTo(conn *websocket.Conn, gone context.CancelFunc) (stop func()) {
	var stopped atomic.Bool
	heard := make(chan struct{})
	conn.SetReadLimit(maxFrame)
	extend := func(string) error {
		err := conn.SetReadDeadline(time.Now().Add(2*feed.Heartbeat + streamWriteTimeout))
		if stopped.Load() {
			return errGone
		}
		return err
	}
	conn.SetPongHandler(extend)
	go func() {
		defer close(heard)
		defer gone()
		for extend("") == nil {
			if _, _, err := conn.NextReader(); err != nil {
				return
			}
		}
	}()
	return func() {
		stopped.Store(true)
		_ = conn.SetReadDeadline(time.Now())
		<-heard
	}
}
