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

// connectHTTP asks for a tunnel with CONNECT.
func (p *Proxy) connectHTTP(conn net.Conn, target string) *Error {
	var request strings.Builder
	request.WriteString("CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n")
	if p.user != "" || p.password != "" {
		request.WriteString("Proxy-Authorization: Basic " +
			base64.StdEncoding.EncodeToString([]byte(p.user+":"+p.password)) + "\r\n")
	}
	request.WriteString("\r\n")
	if _, err := io.WriteString(conn, request.String()); err != nil {
		return p.broken(err)
	}
	read := bufio.NewReaderSize(io.LimitReader(conn, maxAnswer), 1)                     // as little ahead as possible
	response, err := http.ReadResponse(read, &http.Request{Method: http.MethodConnect}) //nolint:bodyclose // conn's owner closes it
	if err != nil {
		return p.broken(err)
	}
	if failed := p.byStatus(response.StatusCode); failed != nil {
		return failed
	}
	if read.Buffered() > 0 { // an endpoint of HTTP, with or without TLS, never speaks first
		return p.unreachable("the endpoint sent something before the request: it isn't an HTTP server", nil)
	}
	return nil
}
