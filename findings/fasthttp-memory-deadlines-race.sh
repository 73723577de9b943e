#!/usr/bin/env bash
# fasthttp's in-memory connections: a handler that moves its own deadline races with the server.
#
# Versions: valyala/fasthttp 1.73.0, Fiber 2.52.15, Go 1.26 with cgo (the race detector needs it).
# Guess:    net.Conn says that several goroutines may call its methods at once. So a Fiber handler that streams, and moves the
#           connection's write deadline with each message (as one does for server-sent events), works the same over TCP and over
#           fasthttputil's in-memory listener, which is meant for clients in the same process and for tests.
# Seen:     over TCP the race detector finds nothing. In memory, the handler's goroutine and the server's both write the timer of the
#           deadline without a lock: a data race in each run. Deadlines of reading have a lock around a part of it only.
# Hurts:    programs that reach their own server in memory: tests of such streams fail under the race detector, and what the
#           deadline is afterwards isn't defined. A listener over net.Pipe, or grpc's bufconn, has none of this.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT; cd "$dir"
cat >go.mod <<'MOD'
module finding
go 1.26
require (
	github.com/gofiber/fiber/v2 v2.52.15
	github.com/valyala/fasthttp v1.73.0
)
MOD
cat >main.go <<'GO'
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp/fasthttputil"
)

func main() {
	app := fiber.New(fiber.Config{DisableStartupMessage: true, WriteTimeout: time.Minute})
	app.Get("/", func(c *fiber.Ctx) error {
		conn := c.Context().Conn()
		c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
			for n := range 100 {
				_ = conn.SetWriteDeadline(time.Now().Add(time.Minute))
				fmt.Fprintf(w, "data: %d\n\n", n)
				if w.Flush() != nil {
					return
				}
			}
		})
		return nil
	})
	var listener net.Listener
	dial := (&net.Dialer{}).DialContext
	if os.Args[1] == "memory" {
		memory := fasthttputil.NewInmemoryListener()
		dial = func(context.Context, string, string) (net.Conn, error) { return memory.Dial() }
		listener = memory
	} else {
		tcp, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		listener = tcp
	}
	go func() { _ = app.Listener(listener) }()
	client := &http.Client{Transport: &http.Transport{DialContext: dial}}
	address := "http://memory/"
	if os.Args[1] == "tcp" {
		address = "http://" + listener.Addr().String() + "/"
	}
	for range 20 {
		response, err := client.Get(address)
		if err != nil {
			panic(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		response.Body.Close()
	}
}
GO
go mod tidy 2>/dev/null
CGO_ENABLED=1 go build -race -o run .
for kind in tcp memory; do
	status=0
	./run $kind >/dev/null 2>$kind.log || status=$?
	echo "$kind: exit code $status, $(grep -q 'DATA RACE' $kind.log && echo 'a data race' || echo 'no data race')"
done | tee seen
grep -o 'pipeConn).SetWriteDeadline' memory.log | sort -u | tee -a seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
tcp: exit code 0, no data race
memory: exit code 66, a data race
pipeConn).SetWriteDeadline
SEEN
echo "as seen"
