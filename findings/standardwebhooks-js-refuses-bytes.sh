#!/usr/bin/env bash
# Standard Webhooks: the JavaScript library refuses what the Go library has signed, if the body isn't UTF-8 text.
#
# Versions: standardwebhooks 1.1.1 (npm, Node 20 or later), its Go library 0.0.1, Go 1.26.
# Guess:    both sign the bytes of the body; sign and verify take a Buffer in JavaScript, and []byte in Go. So they agree on any body.
# Seen:     the JavaScript library decodes the Buffer as UTF-8 first and signs the result, in which each byte that isn't UTF-8 has
#           become U+FFFD. A body in Latin-1, or in Protocol Buffers, or compressed, is "No matching signature found", although the
#           signature is right. The same bytes as a Uint8Array are refused for their type.
# Hurts:    receivers in JavaScript whose senders pass on bytes: most bodies pass, then one has a customer called café in Latin-1, is
#           refused each time it is sent, and looks like a wrong secret. Compute the HMAC over the bytes yourself.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT; cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund standardwebhooks@1.1.1
cat >go.mod <<'MOD'
module finding
go 1.26
require github.com/standard-webhooks/standard-webhooks/libraries v0.0.1
MOD
# Prints the body in base64 and its signature.
cat >main.go <<'GO'
package main

import (
	"encoding/base64"
	"fmt"
	"os"
	"strconv"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func check(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

func main() {
	hook, err := webhooks.NewWebhook(os.Args[1])
	check(err)
	seconds, err := strconv.ParseInt(os.Args[2], 10, 64)
	check(err)
	for _, body := range []string{
		`{"name":"cafe"}`,
		"{\"name\":\"caf\u00e9\"}",
		"{\"name\":\"caf\xe9\"}", // Latin-1
		"\x08\x96\x01",           // Protocol Buffers: field 1 is 150
	} {
		signature, err := hook.Sign("msg_1", time.Unix(seconds, 0), []byte(body))
		check(err)
		fmt.Println(base64.StdEncoding.EncodeToString([]byte(body)), signature)
	}
}
GO
go mod tidy 2>/dev/null
go build -o sign .
cat >verify.mjs <<'JS'
import { execFileSync } from 'node:child_process';
import { Webhook } from 'standardwebhooks';

const secret = 'whsec_' + Buffer.from('0123456789abcdef0123456789abcdef').toString('base64');
const seconds = String(Math.floor(Date.now() / 1000));
const hook = new Webhook(secret);
const result = (body, signature) => {
  try {
    hook.verify(body, { 'webhook-id': 'msg_1', 'webhook-timestamp': seconds, 'webhook-signature': signature }, { jsonParse: false });
    return 'accepted';
  } catch (e) {
    return e.message;
  }
};
const names = ['ASCII', 'UTF-8', 'Latin-1', 'Protocol Buffers'];
for (const line of execFileSync('./sign', [secret, seconds]).toString().trim().split('\n')) {
  const [base64, signature] = line.split(' ');
  console.log(`${names.shift()}, signed in Go:`, result(Buffer.from(base64, 'base64'), signature));
  if (names.length === 0) console.log('the same as a Uint8Array:', result(Uint8Array.from(Buffer.from(base64, 'base64')), signature));
}
JS
node verify.mjs | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
ASCII, signed in Go: accepted
UTF-8, signed in Go: accepted
Latin-1, signed in Go: No matching signature found
Protocol Buffers, signed in Go: No matching signature found
the same as a Uint8Array: Expected payload to be of type string or Buffer.
SEEN
echo "as seen"
