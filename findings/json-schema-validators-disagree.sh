#!/usr/bin/env bash
# JSON Schema: three validators of draft 2020-12 give different answers on the same valid schema and the same event.
#
# Versions: santhosh-tekuri/jsonschema 6.0.3, google/jsonschema-go 0.4.3 (Go 1.26), ajv 8.20.0 (npm, Node 20).
# Guess:    they implement one specification, so that an event which one service has checked passes the check of another one
#           with the same schema, but for formats.
# Seen:     cents: google and ajv refuse 19.99 as a multiple of 0.01, santhosh doesn't. IDs above 2^53 are exact in santhosh only.
#           ajv doesn't count items that `contains` matches as evaluated if minContains is 0. Patterns aren't those of the
#           specification (ECMA-262) in Go: \S matches a no-break space there, and schemas with \u00e9 or {1,2000} aren't accepted.
# Hurts:    whoever publishes a schema for others: what the sender has checked is refused by the receiver, or the other way around, for
#           some amounts and names only. Use integers for cents, text for IDs, ASCII classes in patterns, and maxLength.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT; cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund ajv@8.20.0
cat >cases.json <<'JSON'
[
  ["cents", {"multipleOf": 0.01}, 19.99],
  ["ID", {"maximum": 9007199254740992}, 9007199254740993],
  ["contains", {"contains": {"type": "string"}, "minContains": 0, "unevaluatedItems": false}, ["paid"]],
  ["\\S", {"pattern": "^\\S+$"}, "no\u00a0break"],
  ["escape", {"pattern": "^caf\\u00e9$"}, "caf\u00e9"],
  ["repeat", {"pattern": "^.{1,2000}$"}, "paid"]
]
JSON
cat >check.mjs <<'JS'
import { readFileSync } from 'node:fs';
import ajv from 'ajv/dist/2020.js';

for (const [name, schema, value] of JSON.parse(readFileSync('cases.json'))) {
  let answer = 'schema refused';
  try {
    answer = new ajv.default({ strict: false }).validate(schema, value) ? 'valid' : 'invalid';
  } catch {}
  console.log(`${name}: ajv ${answer}`);
}
JS
cat >go.mod <<'MOD'
module finding
go 1.26
require (
	github.com/google/jsonschema-go v0.4.3
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3
)
MOD
cat >main.go <<'GO'
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	google "github.com/google/jsonschema-go/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func check(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

func main() {
	text, err := os.ReadFile("cases.json")
	check(err)
	var cases [][]json.RawMessage
	check(json.Unmarshal(text, &cases))
	for _, c := range cases {
		var name string
		check(json.Unmarshal(c[0], &name))
		fmt.Printf("%s: santhosh-tekuri %s\n", name, bySanthosh(c[1], c[2]))
		fmt.Printf("%s: google %s\n", name, byGoogle(c[1], c[2]))
	}
}

func verdict(err error) string {
	if err != nil {
		return "invalid"
	}
	return "valid"
}

func bySanthosh(schema, value []byte) string {
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	check(err)
	compiler := jsonschema.NewCompiler()
	check(compiler.AddResource("event.json", parsed))
	compiled, err := compiler.Compile("event.json")
	if err != nil {
		return "schema refused"
	}
	event, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	check(err)
	return verdict(compiled.Validate(event))
}

func byGoogle(schema, value []byte) string {
	var parsed google.Schema
	check(json.Unmarshal(schema, &parsed))
	resolved, err := parsed.Resolve(nil)
	if err != nil {
		return "schema refused"
	}
	var event any
	check(json.Unmarshal(value, &event))
	return verdict(resolved.Validate(event))
}
GO
go mod tidy 2>/dev/null
{ node check.mjs && go run .; } | LC_ALL=C sort -s -t: -k1,1 | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
ID: ajv valid
ID: santhosh-tekuri invalid
ID: google valid
\S: ajv invalid
\S: santhosh-tekuri valid
\S: google valid
cents: ajv invalid
cents: santhosh-tekuri valid
cents: google invalid
contains: ajv invalid
contains: santhosh-tekuri valid
contains: google valid
escape: ajv valid
escape: santhosh-tekuri schema refused
escape: google schema refused
repeat: ajv valid
repeat: santhosh-tekuri schema refused
repeat: google schema refused
SEEN
echo "as seen"
