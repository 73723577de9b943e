#!/usr/bin/env bash
# Server-sent events: Go clients deliver events that were cut off or have no data, and lose the first one after a byte order mark.
#
# Versions: r3labs/sse 2.10.0, tmaxmax/go-sse 0.12.0, launchdarkly/eventsource 1.11.0, openai-go 3.99.0 (its stream decoder, Go 1.26),
#           eventsource-parser 4.1.3 (npm, Node 20).
# Guess:    the format is small and its specification (HTML, section 9.2) gives the parser's steps, so that all clients see the same
#           events in a valid stream. An event ends at an empty line: what comes before a lost connection without one is dropped. A block
#           without data changes the ID or the retry time, and is no event.
# Seen:     eventsource-parser does that. r3labs delivers what came before the connection broke: "19" of a "1900". It and launchdarkly
#           make an event with empty data of a block with `retry` or `id`, and tmaxmax of one with `id`. After a byte order mark, r3labs
#           and openai-go lose the first event, and launchdarkly its data. openai-go finds no event if lines end with CR. r3labs keeps an
#           ID that the server took back, and asks for it on reconnecting.
# Hurts:    whoever consumes change feeds: a truncated number or text is processed as a complete event, and heartbeats with an ID fail to
#           parse as JSON. Let each event contain a check of its own (JSON objects fail if cut), and skip empty data.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT; cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund eventsource-parser@4.1.3
cat >cases.json <<'JSON'
[
  ["cut off", "data: 7\n\ndata: 19"],
  ["cut off after its line", "data: 7\n\ndata: 1900\n"],
  ["new ID, no data", "id: 5\n\ndata: 7\n\n"],
  ["new retry, no data", "retry: 2000\n\ndata: 7\n\n"],
  ["byte order mark", "\ufeffdata: 7\n\ndata: 8\n\n"],
  ["lines end with CR", "data: 7\r\rdata: 8\r\r"],
  ["ID taken back", "id: 5\ndata: 7\n\nid\ndata: 8\n\n"]
]
JSON
cat >read.mjs <<'JS'
import { readFileSync } from 'node:fs';
import { createParser } from 'eventsource-parser';

for (const [name, stream] of JSON.parse(readFileSync('cases.json'))) {
  const events = [];
  createParser({ onEvent: ({ id, data }) => events.push(JSON.stringify(data) + (id ? ` (ID ${id})` : '')) }).feed(stream);
  console.log(`${name}, eventsource-parser:`, events.join(' '));
}
JS
cat >go.mod <<'MOD'
module finding
go 1.26
require (
	github.com/launchdarkly/eventsource v1.11.0
	github.com/openai/openai-go/v3 v3.99.0
	github.com/r3labs/sse/v2 v2.10.0
	github.com/tmaxmax/go-sse v0.12.0
	gopkg.in/cenkalti/backoff.v1 v1.1.0
)
MOD
cat >main.go <<'GO'
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing/iotest"

	launchdarkly "github.com/launchdarkly/eventsource"
	"github.com/openai/openai-go/v3/packages/ssestream"
	r3labs "github.com/r3labs/sse/v2"
	tmaxmax "github.com/tmaxmax/go-sse"
	"gopkg.in/cenkalti/backoff.v1"
)

func check(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

func show(id, data string) {
	fmt.Printf(" %q", data)
	if id != "" {
		fmt.Printf(" (ID %s)", id)
	}
}

// response is a transport whose connection breaks after it has answered.
type response string

func (r response) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: r.body()}, nil
}

func (r response) body() io.ReadCloser {
	return io.NopCloser(io.MultiReader(strings.NewReader(string(r)), iotest.ErrReader(io.ErrUnexpectedEOF)))
}

func main() {
	text, err := os.ReadFile("cases.json")
	check(err)
	var cases [][2]string
	check(json.Unmarshal(text, &cases))
	for _, c := range cases {
		name, stream := c[0], c[1]
		fmt.Printf("%s, tmaxmax:", name)
		for e, err := range tmaxmax.Read(response(stream).body(), nil) {
			if err == nil {
				show(e.LastEventID, e.Data)
			}
		}
		fmt.Printf("\n%s, launchdarkly:", name)
		l := launchdarkly.NewDecoder(response(stream).body())
		for e, err := l.Decode(); err == nil; e, err = l.Decode() {
			show(e.Id(), e.Data())
		}
		fmt.Printf("\n%s, openai:", name)
		answer, _ := response(stream).RoundTrip(nil)
		for o := ssestream.NewDecoder(answer); o.Next(); {
			show("", string(bytes.TrimSuffix(o.Event().Data, []byte("\n"))))
		}
		fmt.Printf("\n%s, r3labs:", name)
		client := r3labs.NewClient("http://127.0.0.1/", func(c *r3labs.Client) {
			c.Connection.Transport = response(stream)
			c.ReconnectStrategy = &backoff.StopBackOff{}
		})
		_ = client.SubscribeRaw(func(e *r3labs.Event) { show(string(e.ID), string(e.Data)) })
		fmt.Println()
	}
}
GO
go mod tidy 2>/dev/null
{ go run . && node read.mjs; } | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
cut off, tmaxmax: "7"
cut off, launchdarkly: "7"
cut off, openai: "7"
cut off, r3labs: "7" "19"
cut off after its line, tmaxmax: "7"
cut off after its line, launchdarkly: "7"
cut off after its line, openai: "7"
cut off after its line, r3labs: "7" "1900"
new ID, no data, tmaxmax: "" (ID 5) "7" (ID 5)
new ID, no data, launchdarkly: "" (ID 5) "7"
new ID, no data, openai: "7"
new ID, no data, r3labs: "" (ID 5) "7" (ID 5)
new retry, no data, tmaxmax: "7"
new retry, no data, launchdarkly: "" "7"
new retry, no data, openai: "7"
new retry, no data, r3labs: "" "7"
byte order mark, tmaxmax: "7" "8"
byte order mark, launchdarkly: "" "8"
byte order mark, openai: "8"
byte order mark, r3labs: "8"
lines end with CR, tmaxmax: "7" "8"
lines end with CR, launchdarkly: "7" "8"
lines end with CR, openai:
lines end with CR, r3labs: "7" "8"
ID taken back, tmaxmax: "7" (ID 5) "8"
ID taken back, launchdarkly: "7" (ID 5) "8"
ID taken back, openai: "7" "8"
ID taken back, r3labs: "7" (ID 5) "8" (ID 5)
cut off, eventsource-parser: "7"
cut off after its line, eventsource-parser: "7"
new ID, no data, eventsource-parser: "7"
new retry, no data, eventsource-parser: "7"
byte order mark, eventsource-parser: "7" "8"
lines end with CR, eventsource-parser: "7" "8"
ID taken back, eventsource-parser: "7" (ID 5) "8"
SEEN
echo "as seen"
