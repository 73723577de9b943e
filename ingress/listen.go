package ingress

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"holdfast/providers/receiving"
)

// limitConnections sets what Fiber doesn't expose. A body is a stream here, of which fasthttp reads one byte: readBody checks its
// memory first, and reads only what is needed.
func (s *Server) limitConnections() {
	server := s.app.Server()
	server.SecureErrorLogMessage = true
	server.CloseOnShutdown = true
	server.MaxConnsPerIP = s.MaxConnsPerIP
	server.HeaderReceived = func(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
		s.headerCache.remember(h)
		if h.ContentLength() > s.bodyLimit(h) {
			h.Set(fasthttp.HeaderExpect, "100-continue") // the ExpectHandler runs before the first byte of the body is read
		}
		return fasthttp.RequestConfig{ReadTimeout: s.BodyTimeout, MaxRequestBodySize: 1}
	}
	handle, refuse := server.Handler, server.ErrorHandler
	server.Handler = func(c *fasthttp.RequestCtx) {
		s.headerCache.Remove(&c.Request.Header)
		switch {
		case couldSmuggle(&c.Request.Header):
			c.SetConnectionClose() // what follows may be a piece of the body
			refuse(c, errAmbiguous)
		case !slices.Contains(fiber.DefaultMethods, string(c.Method())):
			refuse(c, fasthttp.ErrGetOnly) // Fiber would answer an unsupported method with its own error
		default:
			handle(c)
		}
		if c.Request.IsBodyStream() && !skipRest(c) {
			c.SetConnectionClose() // what follows is a piece of the body
		}
		c.Request.ResetBody()
		if s.draining.Load() {
			c.SetConnectionClose()
		}
	}
	server.ErrorHandler = func(c *fasthttp.RequestCtx, err error) {
		s.headerCache.restore(&c.Request.Header)
		refuse(c, err)
	}
	server.ExpectHandler = func(c *fasthttp.RequestCtx) int {
		if c.Request.Header.ContentLength() <= s.bodyLimit(&c.Request.Header) {
			return fasthttp.StatusContinue
		}
		discard(c.Conn(), c.Conn())
		server.ErrorHandler(c, fasthttp.ErrBodyTooLarge)
		return c.Response.StatusCode()
	}
}

// skipRest reads the rest of a body that the answer doesn't depend on, and reports whether it ended.
func skipRest(c *fasthttp.RequestCtx) bool { return discard(c.Conn(), c.RequestBodyStream()) }

// The bounds on reading the rest of a body that is refused: bytes, total time and pauses.
const (
	maxDiscarded   = 4 << 20
	maxDiscardTime = 2 * time.Second
	discardPause   = 200 * time.Millisecond
)

// discard continues to read, so that a sender that is still writing sees the answer: closing a connection with unread bytes
// resets it, and the answer is lost. It reports whether the body ended.
func discard(conn net.Conn, body io.Reader) bool {
	buffer := make([]byte, 16<<10)
	end := time.Now().Add(maxDiscardTime)
	for total := 0; total < maxDiscarded && time.Now().Before(end); {
		deadline := time.Now().Add(discardPause)
		if conn.SetReadDeadline(deadline) != nil {
			return false
		}
		n, err := body.Read(buffer)
		if err != nil {
			return errors.Is(err, io.EOF) && time.Now().Before(deadline)
		}
		total += n
	}
	return false
}

// bodyLimit returns the limit of the request's provider, for the body without the framing of chunks. It runs outside of every
// middleware, so it has its own recover.
func (s *Server) bodyLimit(h *fasthttp.RequestHeader) (limit int) {
	limit = receiving.OpenLimit(s.BodyLimit)
	defer func() { _ = recover() }()
	var uri fasthttp.URI
	if uri.Parse(nil, h.RequestURI()) != nil {
		return limit
	}
	if provider, _, ok := s.Catalogue.ByPath(string(uri.PathOriginal())); ok {
		limit = provider.BodyLimit(s.BodyLimit)
	}
	return limit
}

// Serve answers on the listener until Shutdown; if that was called first, it returns immediately.
func (s *Server) Serve(socket net.Listener) error {
	s.mu.Lock()
	s.listener = socket
	stopped := s.stopped
	s.mu.Unlock()
	if stopped {
		return socket.Close()
	}
	return s.app.Listener(listener{socket})
}

// Drain makes GET /health fail and the self-test report that the server is about to stop. The server keeps accepting, and closes
// each connection after its next response, so that the sender's next request goes elsewhere.
func (s *Server) Drain() { s.draining.Store(true) }

// Shutdown stops accepting, waits for the answers of requests in flight, and for late confirmed events to leave the inbox.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.stopped = true
	listener := s.listener
	s.mu.Unlock()
	err := s.app.ShutdownWithContext(ctx)
	if listener != nil {
		_ = listener.Close() // fasthttp has closed it, unless it hadn't begun
	}
	return errors.Join(err, s.Intake.Close(ctx))
}

// listener accepts connections on which a request that breaks off is an error.
type listener struct{ net.Listener }

// Accept returns the next connection.
func (l listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &connection{Conn: conn}, nil
}

// connection returns io.ErrUnexpectedEOF in place of io.EOF once something was read. A stream of fasthttp also returns io.EOF for
// a body that breaks off between two chunks, in its trailers, or before its declared length: it would be taken for complete.
type connection struct {
	net.Conn

	began bool
}

// Read reads from the connection.
func (c *connection) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.began = c.began || n > 0
	if c.began && errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
