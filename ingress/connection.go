package ingress

import (
	"errors"
	"io"
	"net"
)

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
