package httpapi

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime/debug"
	"time"

	"github.com/gofiber/fiber/v2"
)

// SlowDetails explains a route that responds with RespondSlowly.
const SlowDetails = "It may take long. Then the response has the status 200 and begins with line breaks, which keep the " +
	"connection open; if it fails after that, its body is that of an error. It ends when the client disconnects."

const (
	// slowAfter is how long a response waits for its status, and heartbeat the time between two line breaks after that.
	slowAfter = 5 * time.Second
	heartbeat = 5 * time.Second
	// heartbeatTimeout bounds one write.
	heartbeatTimeout = 10 * time.Second
)

// RespondSlowly responds with the result of work that may take longer than other requests: see SlowDetails. Work ends with its
// context, which ends when the client disconnects. It must not use c.
func RespondSlowly[T any](c *fiber.Ctx, work func(context.Context) (T, error)) error {
	return respondSlowly(c, slowAfter, heartbeat, work)
}

func respondSlowly[T any](c *fiber.Ctx, after, every time.Duration, work func(context.Context) (T, error)) error {
	ctx, cancel := context.WithCancel(context.WithoutCancel(c.UserContext()))
	done := make(chan slowResult[T], 1)
	go func() { done <- resultOf(ctx, work) }()
	select {
	case r := <-done:
		cancel()
		if r.err != nil {
			return r.err
		}
		return c.JSON(r.value)
	case <-time.After(after):
	}
	id, path, conn := RequestID(c), c.Path(), c.Context().Conn()
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	c.Set("X-Accel-Buffering", "no")
	c.Context().Response.Header.SetConnectionClose() // AwaitClose would read the next request
	c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
		defer cancel()
		go AwaitClose(conn, cancel)
		r := keepAlive(w, conn, done, every)
		var body any = r.value
		if r.err != nil {
			body = bodyOfFailure(id, path, r.err)
		}
		_ = conn.SetWriteDeadline(time.Now().Add(heartbeatTimeout))
		_ = json.NewEncoder(w).Encode(body) // the client is gone
	})
	return nil
}

// bodyOfFailure logs what the server logs of any other response.
func bodyOfFailure(requestID, path string, err error) ErrorResponse {
	failure := failureOf(requestID, err)
	if failure.Status >= fiber.StatusInternalServerError && !errors.Is(err, context.Canceled) {
		slog.Error("operator.failed", "request_id", requestID, "path", path, "error", err)
	}
	return failure.Body()
}

type slowResult[T any] struct {
	value T
	err   error
}

// resultOf turns a panic into an error: no handler above this goroutine would.
func resultOf[T any](ctx context.Context, work func(context.Context) (T, error)) (r slowResult[T]) {
	defer func() {
		if cause := recover(); cause != nil {
			r.err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
	}()
	r.value, r.err = work(ctx)
	return r
}

// keepAlive writes line breaks until the work is done.
func keepAlive[T any](w *bufio.Writer, conn net.Conn, done <-chan slowResult[T], every time.Duration) slowResult[T] {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		_ = w.WriteByte('\n')
		_ = conn.SetWriteDeadline(time.Now().Add(heartbeatTimeout))
		_ = w.Flush() // AwaitClose notices that the client is gone
		select {
		case r := <-done:
			return r
		case <-tick.C:
		}
	}
}

// AwaitClose calls gone once the client or the server has closed the connection. Otherwise a disconnect shows only when the
// second write after it fails.
func AwaitClose(conn net.Conn, gone context.CancelFunc) {
	defer gone()
	_ = conn.SetReadDeadline(time.Time{}) // if this fails, the read fails too
	_, _ = io.Copy(io.Discard, conn)
}
