#!/usr/bin/env bash
# fasthttp and Fiber v2: a Shutdown that comes before Serve is forgotten. Serve then accepts requests, without an error.
#
# Versions: fasthttp 1.73.0, Fiber 2.52.15, Go 1.26.
# Guess:    as in net/http, where Serve after Shutdown closes the listener and returns http.ErrServerClosed. A program serves in one
#           goroutine and shuts down in another, so a program that is told to stop at once may call them in this order.
# Seen:     Shutdown returns nil and does nothing, because there is no listener yet. Serve then answers requests with 200. The same
#           with Fiber's app.Shutdown and app.Listener. net/http refuses.
# Hurts:    a process that is stopped while it starts waits for its own server until it is killed, and keeps its port. A test that
#           ends early may wait for its time limit: one of ours waited for ten minutes. Close the listener as well, after Shutdown.
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
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

func check(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

// try shuts a server down, serves with it, and says what a client gets.
func try(name string, shutdown func() error, serve func(net.Listener) error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	check(shutdown())
	served := make(chan error, 1)
	go func() { served <- serve(listener) }()
	client := http.Client{Timeout: 5 * time.Second}
	response, err := client.Get("http://" + listener.Addr().String())
	if err == nil {
		fmt.Printf("%s: answers %d after Shutdown\n", name, response.StatusCode)
		check(response.Body.Close())
		check(listener.Close())
		return
	}
	fmt.Printf("%s: no answer; Serve returns ErrServerClosed: %v\n", name, errors.Is(<-served, http.ErrServerClosed))
}

func main() {
	standard := &http.Server{}
	try("net/http", func() error { return standard.Shutdown(context.Background()) }, standard.Serve)
	fast := &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}}
	try("fasthttp", fast.Shutdown, fast.Serve)
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Get("/", func(*fiber.Ctx) error { return nil })
	try("Fiber", app.Shutdown, app.Listener)
}
GO
go mod tidy 2>/dev/null
go run . | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
net/http: no answer; Serve returns ErrServerClosed: true
fasthttp: answers 200 after Shutdown
Fiber: answers 200 after Shutdown
SEEN
echo "as seen"
