#!/usr/bin/env bash
# fasthttp: with StreamRequestBody, a body whose connection ends early reads as a complete one.
#
# Versions: fasthttp 1.73.0 (also under Fiber 2.52), Go 1.26; beside it Go's own net/http.
# Guess:    reading the stream of a request that declared 20,000 bytes and sent 12,000, or that ended after the first of its chunks,
#           ends with io.ErrUnexpectedEOF, as in net/http.
# Seen:     io.ReadAll returns the bytes that came and no error, in both forms. Only a body that ends within the first 8 KiB, which
#           fasthttp reads before it calls the handler, is refused.
# Hurts:    servers that stream bodies to save memory: an upload that broke off is stored as complete, and the client, which saw its
#           connection break, sends it again. Compare with Content-Length; for chunks, wrap the connection so that its end is an error.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT; cd "$dir"
cat >go.mod <<'MOD'
module finding
go 1.26
require github.com/valyala/fasthttp v1.73.0
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
)

func check(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

var (
	part  = strings.Repeat("x", 12000)
	forms = []struct{ name, request string }{
		{"12000 of 20000 bytes", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 20000\r\n\r\n" + part},
		{"one chunk, no end", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2ee0\r\n" + part + "\r\n"},
		{"100 of 20000 bytes", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 20000\r\n\r\n" + part[:100]},
	}
)

func main() {
	results := make(chan string, 1)
	report := func(body []byte, err error) { results <- fmt.Sprintf("read %d bytes, error: %v", len(body), err) }
	servers := map[string]func(net.Listener) error{
		"net/http": func(l net.Listener) error {
			return http.Serve(l, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { report(io.ReadAll(r.Body)) }))
		},
		"fasthttp": func(l net.Listener) error {
			s := &fasthttp.Server{StreamRequestBody: true, Handler: func(c *fasthttp.RequestCtx) {
				report(io.ReadAll(c.RequestBodyStream()))
			}}
			return s.Serve(l)
		},
	}
	for _, name := range []string{"net/http", "fasthttp"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		check(err)
		go func() { _ = servers[name](l) }()
		for _, form := range forms {
			c, err := net.Dial("tcp", l.Addr().String())
			check(err)
			_, err = io.WriteString(c, form.request)
			check(err)
			check(c.(*net.TCPConn).CloseWrite())
			result := "refused"
			select {
			case result = <-results:
			case <-time.After(3 * time.Second):
			}
			fmt.Printf("%s, %s: %s\n", name, form.name, result)
			check(c.Close())
		}
	}
}
GO
go mod tidy 2>/dev/null
go run . 2>/dev/null | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
net/http, 12000 of 20000 bytes: read 12000 bytes, error: unexpected EOF
net/http, one chunk, no end: read 12000 bytes, error: unexpected EOF
net/http, 100 of 20000 bytes: read 100 bytes, error: unexpected EOF
fasthttp, 12000 of 20000 bytes: read 12000 bytes, error: <nil>
fasthttp, one chunk, no end: read 12000 bytes, error: <nil>
fasthttp, 100 of 20000 bytes: refused
SEEN
echo "as seen"
