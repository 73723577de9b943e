package proxy

import (
	"bufio"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"strings"
)

// maxAnswer bounds the header of a response to CONNECT, in bytes.
const maxAnswer = 64 << 10

// connectHTTP asks for a tunnel with CONNECT. early is what the target has sent already.
func (p *Proxy) connectHTTP(conn net.Conn, target string) (early []byte, failed *Error) {
	var request strings.Builder
	request.WriteString("CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n")
	if p.user != "" || p.password != "" {
		request.WriteString("Proxy-Authorization: Basic " +
			base64.StdEncoding.EncodeToString([]byte(p.user+":"+p.password)) + "\r\n")
	}
	request.WriteString("\r\n")
	if _, err := io.WriteString(conn, request.String()); err != nil {
		return nil, p.broken(err)
	}
	read := bufio.NewReaderSize(io.LimitReader(conn, maxAnswer), 1)                     // as little ahead as possible
	response, err := http.ReadResponse(read, &http.Request{Method: http.MethodConnect}) //nolint:bodyclose // conn's owner closes it
	if err != nil {
		return nil, p.broken(err)
	}
	if failed := p.byStatus(response.StatusCode); failed != nil {
		return nil, failed
	}
	early = make([]byte, read.Buffered())
	_, _ = io.ReadFull(read, early) // it is in memory
	return early, nil
}

// earlyConn first reads what the target has sent with the proxy's answer.
type earlyConn struct {
	net.Conn

	early []byte
}

func (c *earlyConn) Read(p []byte) (int, error) {
	if len(c.early) == 0 {
		return c.Conn.Read(p)
	}
	n := copy(p, c.early)
	c.early = c.early[n:]
	return n, nil
}
