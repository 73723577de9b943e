package ingress

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"holdfast/ingress/limits"
	"holdfast/providers/decode"
)

// minBodyRate is how fast a body must arrive on average, in bytes a second, once BodyTimeout has passed.
const minBodyRate = 64 << 10

// The size of the parts that a body is read into. Each doubles the memory of the body.
const (
	firstPart = 16 << 10
	maxPart   = 256 << 10
)

// parts keeps the parts of large bodies for the next ones: a stranger's body would otherwise be garbage that counts twice.
var parts = sync.Pool{New: func() any { return new([maxPart]byte) }}

var errNoBodyMemory = errors.New("the memory for bodies is in use")

// readBody reads the body of the request into memory that the budget has granted. A large one then waits for its turn to be
// decoded, which ends with endTurn. It returns why the request is refused, and closes its connection, since what follows may be a
// piece of the body; "" if it isn't refused.
func (s *Server) readBody(c *fiber.Ctx) code {
	if !c.Request().IsBodyStream() {
		return ""
	}
	refused := s.readStream(c)
	if refused != "" {
		c.Context().SetConnectionClose()
	}
	return refused
}

func (s *Server) readStream(c *fiber.Ctx) code {
	o, request := observed(c), c.Request()
	o.memory = s.bodies.ForClient(o.client, request.Header.ContentLength())
	body := incomingBody{
		stream: request.BodyStream(), conn: c.Context().Conn(), memory: o.memory, declared: request.Header.ContentLength(),
		limit: s.bodyLimit(&request.Header), grace: s.BodyTimeout,
	}
	defer body.free()
	if err := body.read(); err != nil {
		return unreadCode(err)
	}
	if dropTrailers(&request.Header) != nil {
		return codeBadRequest
	}
	ctx, cancel := context.WithTimeout(o.ctx, s.BodyTimeout)
	defer cancel()
	var err error
	if o.turn, err = decode.Turn(ctx, body.size); err != nil {
		return codeBodyMemory
	}
	request.SetBodyRaw(body.join())
	return ""
}

// unreadCode returns the code for an error of reading.
func unreadCode(err error) code {
	var timeout net.Error
	switch {
	case errors.Is(err, errNoBodyMemory):
		return codeBodyMemory
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		return codeTooLarge
	case errors.As(err, &timeout) && timeout.Timeout():
		return codeTimeout
	}
	return codeBadRequest
}

// incomingBody reads one body in parts: its declared length is only a claim, so nothing is allocated for it.
type incomingBody struct {
	stream io.Reader
	conn   net.Conn
	memory *limits.Share
	// declared is the length that the sender states, or chunked.
	declared, limit int
	grace           time.Duration

	parts [][]byte
	room  []byte // the free rest of the last part
	size  int
}

func (b *incomingBody) read() error {
	began := time.Now()
	for b.size != b.declared {
		if len(b.room) == 0 && !b.grow() {
			return errNoBodyMemory
		}
		deadline := began.Add(b.grace + time.Duration(b.size)*time.Second/minBodyRate)
		if err := b.conn.SetReadDeadline(deadline); err != nil {
			return err
		}
		n, err := b.stream.Read(b.room)
		b.size, b.room = b.size+n, b.room[n:]
		switch {
		case b.size > b.limit:
			return fasthttp.ErrBodyTooLarge
		case err != nil && !time.Now().Before(deadline): // fasthttp may take it for the end of the trailers
			return os.ErrDeadlineExceeded
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}

// grow adds a part, and reports whether there is memory for it.
func (b *incomingBody) grow() bool {
	size := min(max(b.memory.Bytes(), firstPart), maxPart)
	if b.declared != chunked {
		size = min(size, b.declared-b.size)
	}
	if !b.memory.Reserve(size) {
		return false
	}
	if size == maxPart {
		b.room = parts.Get().(*[maxPart]byte)[:] //nolint:forcetypeassert // nothing else is in the pool
	} else {
		b.room = make([]byte, size)
	}
	b.parts = append(b.parts, b.room)
	return true
}

// join returns the body in one piece, which nothing else uses.
func (b *incomingBody) join() []byte {
	if len(b.parts) == 1 {
		return b.parts[0][:b.size:b.size]
	}
	body := make([]byte, 0, b.size)
	for _, part := range b.parts {
		body = append(body, part[:min(len(part), b.size-len(body))]...)
	}
	return body
}

// free returns the parts, of which join has made a copy.
func (b *incomingBody) free() {
	for _, part := range b.parts {
		if len(part) == maxPart {
			parts.Put((*[maxPart]byte)(part))
		}
	}
}
