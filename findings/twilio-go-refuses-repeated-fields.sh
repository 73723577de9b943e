#!/usr/bin/env bash
# Twilio: the Go library refuses a signed form in which a field has two values, and the JavaScript library accepts it.
#
# Versions: twilio 6.3.1 (npm, Node 20 or later), twilio-go 1.31.0, Go 1.26.
# Guess:    both libraries are Twilio's own and take the whole body or all fields, so they agree on which request is authentic.
# Seen:     the JavaScript library signs each value of a repeated field, sorted and without repetition. ValidateBody of the Go library
#           keeps the first value of each field, and Validate takes a map with one value for each: neither accepts such a request.
# Hurts:    receivers in Go whose webhook URL has parameters that Twilio sends along, or whose form has a list. All other requests pass,
#           so that the few that don't look like forgeries. Compute the HMAC over all values yourself.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT; cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts twilio@6.3.1
cat >go.mod <<'MOD'
module finding
go 1.26
require github.com/twilio/twilio-go v1.31.0
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"
	"os"

	"github.com/twilio/twilio-go/client"
)

func main() {
	validator := client.NewRequestValidator(os.Args[1])
	fmt.Print(validator.ValidateBody(os.Args[2], []byte(os.Args[3]), os.Args[4]))
}
GO
go mod tidy 2>/dev/null
go build -o validate .
cat >sign.cjs <<'JS'
const { execFileSync } = require("node:child_process");
const { parse } = require("node:querystring");
const twilio = require("twilio");

const token = "12345678901234567890123456789012", url = "https://example.com/sms";
for (const body of ["From=%2B4930&Label=a", "From=%2B4930&Label=a&Label=b", "From=%2B4930&Label=a&Label=a"]) {
  const fields = { ...parse(body) };
  const signature = twilio.getExpectedTwilioSignature(token, url, fields);
  const inGo = execFileSync("./validate", [token, url, body, signature]).toString();
  console.log(`${body}: JavaScript ${twilio.validateRequest(token, signature, url, fields)}, Go ${inGo}`);
}
JS
node sign.cjs | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
From=%2B4930&Label=a: JavaScript true, Go true
From=%2B4930&Label=a&Label=b: JavaScript true, Go false
From=%2B4930&Label=a&Label=a: JavaScript true, Go true
SEEN
echo "as seen"
