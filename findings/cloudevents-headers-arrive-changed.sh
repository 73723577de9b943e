#!/usr/bin/env bash
# CloudEvents in binary mode: a subject with letters beyond ASCII is another one after each SDK that it passes.
#
# Versions: CloudEvents Go SDK 2.16.2 (Go 1.26), JavaScript SDK 10.0.0 (npm, Node 20 or later).
# Guess:    attributes are Unicode. In HTTP headers the specification (HTTP binding 1.0.2, section 3.1.3.2) percent-encodes all but
#           printable ASCII, and the SDKs encode and decode, so that a subject arrives as it was sent.
# Seen:     neither SDK does either. From JavaScript to Go "café" arrives as Latin-1, which isn't UTF-8; from Go to JavaScript as
#           "cafÃ©"; what a correct sender writes, "caf%C3%A9", stays as it is in both. JavaScript can't send "ключ" at all.
# Hurts:    whoever routes, groups or deduplicates by subject, source or an extension with names in them, across languages, or next
#           to senders that follow the specification. Structured mode (one JSON body) has none of this.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT; cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund cloudevents@10.0.0
cat >go.mod <<'MOD'
module finding
go 1.26
require github.com/cloudevents/sdk-go/v2 v2.16.2
MOD
# The Go side: `run send URL SUBJECT` sends an event, `run receive` prints its address, and then the subject of each event.
cat >main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	protocol "github.com/cloudevents/sdk-go/v2/protocol/http"
)

func check(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

func main() {
	if os.Args[1] == "send" {
		c, err := cloudevents.NewClientHTTP()
		check(err)
		e := cloudevents.NewEvent()
		e.SetID("1")
		e.SetType("paid")
		e.SetSource("/shop")
		e.SetSubject(os.Args[3])
		result := c.Send(cloudevents.ContextWithTarget(cloudevents.WithEncodingBinary(context.Background()), os.Args[2]), e)
		if !cloudevents.IsACK(result) {
			check(result)
		}
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	fmt.Printf("http://%s\n", l.Addr())
	check(http.Serve(l, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		e, err := protocol.NewEventFromHTTPRequest(r)
		check(err)
		fmt.Printf("%q\n", e.Subject())
	})))
}
GO
go mod tidy 2>/dev/null
go build -o run .
cat >meet.mjs <<'JS'
import { execFile, spawn } from 'node:child_process';
import http from 'node:http';
import readline from 'node:readline';
import { promisify } from 'node:util';
import { CloudEvent, emitterFor, HTTP, httpTransport } from 'cloudevents';

const go = spawn('./run', ['receive']);
const lines = readline.createInterface({ input: go.stdout })[Symbol.asyncIterator]();
const target = (await lines.next()).value;
const post = (headers, body) => fetch(target, { method: 'POST', headers, body });
const event = (subject) => HTTP.binary(new CloudEvent({ id: '1', type: 'paid', source: '/shop', subject, data: {} }));

let message = event('café');
await post(message.headers, message.body);
console.log('JavaScript sends "café" with fetch, Go reads', (await lines.next()).value);
await emitterFor(httpTransport(target))(new CloudEvent({ id: '1', type: 'paid', source: '/shop', subject: 'café', data: {} }));
console.log('JavaScript sends "café" with the SDK, Go reads', (await lines.next()).value);

await post({ ...message.headers, 'ce-subject': 'caf%C3%A9' }, message.body);
console.log('as specified, "café" is caf%C3%A9, Go reads', (await lines.next()).value);

message = event('ключ');
await post(message.headers, message.body).catch((e) => console.log('JavaScript sends "ключ":', e.name));

const server = http.createServer((request, response) => {
  request.resume();
  request.on('end', () => {
    console.log('Go sends "café", JavaScript reads', JSON.stringify(HTTP.toEvent({ headers: request.headers, body: '' }).subject));
    response.end();
  });
}).listen(0, '127.0.0.1', async () => {
  await promisify(execFile)('./run', ['send', `http://127.0.0.1:${server.address().port}`, 'café']);
  server.close();
  go.kill();
});

const read = HTTP.toEvent({ headers: { ...event('x').headers, 'ce-subject': 'caf%C3%A9' }, body: '{}' });
console.log('as specified, "café" is caf%C3%A9, JavaScript reads', JSON.stringify(read.subject));
JS
node meet.mjs | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
JavaScript sends "café" with fetch, Go reads "caf\xe9"
JavaScript sends "café" with the SDK, Go reads "caf\xe9"
as specified, "café" is caf%C3%A9, Go reads "caf%C3%A9"
JavaScript sends "ключ": TypeError
as specified, "café" is caf%C3%A9, JavaScript reads "caf%C3%A9"
Go sends "café", JavaScript reads "cafÃ©"
SEEN
echo "as seen"
