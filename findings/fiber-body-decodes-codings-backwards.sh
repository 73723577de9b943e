#!/usr/bin/env bash
# Fiber v2: c.Body() undoes several content codings in the wrong order, and returns the text of the error as the body.
#
# Versions: Fiber 2.52.15, fasthttp 1.73.0, Go 1.26.
# Guess:    `Content-Encoding: br, gzip` means that the sender applied br first and gzip last (RFC 9110, section 8.4). c.Body() removes
#           gzip first, then br. If a body can't be decoded, it returns the bytes as they came, or none.
# Seen:     it removes br first and fails; the handler gets the 16 bytes "brotli: CL_SPACE" as the body, status 200, no error. The
#           same body is read if the header lists the codings backwards. A body without coding under `gzip`, as some proxies leave it,
#           is "unexpected EOF", an empty one "EOF". `GZIP`, which is the same as `gzip`, isn't decoded.
# Hurts:    handlers that store, hash or verify c.Body(): all such requests have the same body, so they look like duplicates of one
#           event, or like forgeries. Use c.BodyRaw() and decode it yourself.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT; cd "$dir"
cat >go.mod <<'MOD'
module finding
go 1.26
require (
	github.com/andybalholm/brotli v1.2.6
	github.com/gofiber/fiber/v2 v2.52.15
	github.com/valyala/fasthttp v1.73.0
)
MOD
cat >main.go <<'GO'
package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http/httptest"
	"os"

	"github.com/andybalholm/brotli"
	"github.com/gofiber/fiber/v2"
)

func check(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

func packed(body []byte, with func(io.Writer) io.WriteCloser) []byte {
	var out bytes.Buffer
	w := with(&out)
	_, err := w.Write(body)
	check(err)
	check(w.Close())
	return out.Bytes()
}

func gzipped(body []byte) []byte {
	return packed(body, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })
}

func brotlied(body []byte) []byte {
	return packed(body, func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) })
}

func main() {
	var got string
	app := fiber.New()
	app.Post("/", func(c *fiber.Ctx) error { got = string(c.Body()); return nil })
	body := []byte(`{"id":1}`)
	for _, c := range []struct {
		name, coding string
		body         []byte
	}{
		{"gzip", "gzip", gzipped(body)},
		{"br, then gzip", "br, gzip", gzipped(brotlied(body))},
		{"br, then gzip, listed backwards", "gzip, br", gzipped(brotlied(body))},
		{"uncoded, called gzip", "gzip", body},
		{"empty, called gzip", "gzip", nil},
		{"gzip in capitals is decoded", "GZIP", gzipped(body)},
	} {
		r := httptest.NewRequest("POST", "/", bytes.NewReader(c.body))
		r.Header.Set("Content-Encoding", c.coding)
		response, err := app.Test(r)
		check(err)
		if c.coding == "GZIP" {
			fmt.Printf("%s: %v\n", c.name, got == string(body))
			continue
		}
		fmt.Printf("%s: status %d, body %q\n", c.name, response.StatusCode, got)
	}
}
GO
go mod tidy 2>/dev/null
go run . | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
gzip: status 200, body "{\"id\":1}"
br, then gzip: status 200, body "brotli: CL_SPACE"
br, then gzip, listed backwards: status 200, body "{\"id\":1}"
uncoded, called gzip: status 200, body "unexpected EOF"
empty, called gzip: status 200, body "EOF"
gzip in capitals is decoded: false
SEEN
echo "as seen"
