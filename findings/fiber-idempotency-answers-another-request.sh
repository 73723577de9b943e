#!/usr/bin/env bash
# Fiber's idempotency middleware: a key answers other routes and other bodies, and keeps failures, or not.
#
# Version:  gofiber/fiber 3.1.0, middleware/idempotency with its default configuration (Go 1.26).
# Guess:    a key belongs to one request: method, route and body. Another request with the same key is an error, as at Stripe and in the
#           IETF's draft on Idempotency-Key, or runs by itself. Failures are all kept, or none is.
# Seen:     the stored answer is found by the key alone. After POST /orders, POST /refunds with the key gets the order's 200, and no
#           refund is made; so does an order of something else. A 500 or 503 that the handler has sent is kept, and answers all retries;
#           if the handler has returned it as an error, the retry runs again.
# Hurts:    clients that use one key for one business step with several calls: all but the first are confirmed, and never happen. And
#           retries after an outage: they get the old failure for 30 minutes. Return failures as errors; make keys per request.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT; cd "$dir"
cat >go.mod <<'MOD'
module finding
go 1.26
require github.com/gofiber/fiber/v3 v3.1.0
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/idempotency"
)

func check(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

func main() {
	app := fiber.New()
	app.Use(idempotency.New())
	runs := 0
	app.Post("/orders", func(c fiber.Ctx) error {
		runs++
		return c.SendString("ordered " + string(c.Body()))
	})
	app.Post("/refunds", func(c fiber.Ctx) error {
		runs++
		return c.SendString("refunded " + string(c.Body()))
	})
	app.Post("/busy/sent", func(c fiber.Ctx) error {
		runs++
		return c.Status(fiber.StatusServiceUnavailable).SendString("busy")
	})
	app.Post("/busy/returned", func(fiber.Ctx) error {
		runs++
		return fiber.NewError(fiber.StatusServiceUnavailable, "busy")
	})
	post := func(route, key, body string) {
		runs = 0
		r := httptest.NewRequest("POST", route, strings.NewReader(body))
		r.Header.Set("X-Idempotency-Key", strings.Repeat("0", 36-len(key))+key)
		answer, err := app.Test(r)
		check(err)
		text, err := io.ReadAll(answer.Body)
		check(err)
		fmt.Printf("POST %s, key %s, %q: %d %q, handler ran %d times\n", route, key, body, answer.StatusCode, text, runs)
	}
	post("/orders", "a", "tea")
	post("/orders", "a", "tea")
	post("/orders", "a", "coffee")
	post("/refunds", "a", "tea")
	for range 2 {
		post("/busy/sent", "b", "")
	}
	for range 2 {
		post("/busy/returned", "c", "")
	}
}
GO
go mod tidy 2>/dev/null
go run . | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
POST /orders, key a, "tea": 200 "ordered tea", handler ran 1 times
POST /orders, key a, "tea": 200 "ordered tea", handler ran 0 times
POST /orders, key a, "coffee": 200 "ordered tea", handler ran 0 times
POST /refunds, key a, "tea": 200 "ordered tea", handler ran 0 times
POST /busy/sent, key b, "": 503 "busy", handler ran 1 times
POST /busy/sent, key b, "": 503 "busy", handler ran 0 times
POST /busy/returned, key c, "": 503 "busy", handler ran 1 times
POST /busy/returned, key c, "": 503 "busy", handler ran 1 times
SEEN
echo "as seen"
