#!/usr/bin/env bash
# Avro: a schema with a time or an amount in it has three fingerprints in three libraries, so its messages have no schema.
#
# Versions: hamba/avro 2.31.0, linkedin/goavro 2.15.0 (Go 1.26), avsc 5.7.9 (npm, Node 20).
# Guess:    a message in Avro's single-object encoding starts with the fingerprint of its schema, which the specification computes from
#           the schema's Parsing Canonical Form, so that each library finds the schema of what another one has sent.
# Seen:     the canonical form has no logical types and writes {"type": "long"} as "long" (the rules STRIP and PRIMITIVES). avsc does
#           that. hamba keeps logical types, and loses an empty namespace within another one. goavro keeps {"type": "long"} of a
#           timestamp, and gives a decimal a name. So goavro refuses hamba's messages with a time, and hamba finds no schema for
#           goavro's, although their other bytes are the same. Plain schemas have one fingerprint everywhere.
# Hurts:    developers who send events in this encoding, or look up schemas by fingerprint, with more than one library: the first tests
#           pass, and the first event with a time in it can't be read. Register each schema under the fingerprints of all senders.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT; cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund avsc@5.7.9
cat >cases.json <<'JSON'
[
  ["text", {"type": "record", "name": "Paid", "namespace": "shop", "doc": "an order", "fields": [{"name": "id", "type": "string"}]},
    {"id": "1"}],
  ["time", {"type": "record", "name": "Paid", "fields": [{"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}}]},
    {"at": 1}],
  ["amount", {"type": "record", "name": "Paid", "fields": [
    {"name": "euros", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}}]}],
  ["UUID", {"type": "record", "name": "Paid", "fields": [{"name": "id", "type": {"type": "string", "logicalType": "uuid"}}]}],
  ["no namespace", {"type": "record", "name": "shop.Paid", "fields": [
    {"name": "state", "type": {"type": "enum", "name": "State", "namespace": "", "symbols": ["NEW"]}}]}]
]
JSON
cat >fingerprints.mjs <<'JS'
import { readFileSync } from 'node:fs';
import avro from 'avsc';

for (const [name, schema] of JSON.parse(readFileSync('cases.json'))) {
  console.log(`${name}: ${avro.Type.forSchema(schema).fingerprint('sha256').toString('hex')}`);
}
JS
cat >go.mod <<'MOD'
module finding
go 1.26
require (
	github.com/hamba/avro/v2 v2.31.0
	github.com/linkedin/goavro/v2 v2.15.0
)
MOD
cat >main.go <<'GO'
package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/hamba/avro/v2"
	"github.com/hamba/avro/v2/soe"
	"github.com/linkedin/goavro/v2"
)

func check(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

// avsc reads the fingerprints that avsc printed.
func avsc() map[string]string {
	f, err := os.Open("avsc")
	check(err)
	prints := map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		prints[name] = value
	}
	return prints
}

func main() {
	text, err := os.ReadFile("cases.json")
	check(err)
	var cases [][]json.RawMessage
	check(json.Unmarshal(text, &cases))
	javascript := avsc()
	for _, c := range cases {
		var name string
		check(json.Unmarshal(c[0], &name))
		h, err := avro.ParseWithCache(string(c[1]), "", &avro.SchemaCache{})
		check(err)
		l, err := goavro.NewCodec(string(c[1]))
		check(err)
		print := h.Fingerprint()
		rabin, err := h.FingerprintUsing(avro.CRC64Avro)
		check(err)
		sum := sha256.Sum256([]byte(l.CanonicalSchema()))
		fmt.Printf("%s: hamba as avsc %v, goavro as avsc %v, hamba as goavro %v\n", name,
			hex.EncodeToString(print[:]) == javascript[name], hex.EncodeToString(sum[:]) == javascript[name],
			fmt.Sprintf("%x", rabin) == fmt.Sprintf("%016x", l.Rabin))
		if len(c) < 3 {
			continue
		}
		// Both ways, in the single-object encoding.
		value := map[string]any{"id": "1"}
		if name == "time" {
			value = map[string]any{"at": time.UnixMicro(1).UTC()}
		}
		codec, err := soe.NewCodec(h)
		check(err)
		sent, err := codec.Encode(value)
		check(err)
		_, _, err = l.NativeFromSingle(sent)
		fmt.Printf("%s: goavro reads hamba's message: %v\n", name, err == nil)
		sent, err = l.SingleFromNative(nil, value)
		check(err)
		var read any
		err = codec.Decode(sent, &read)
		fmt.Printf("%s: hamba reads goavro's message: %v\n", name, err == nil)
		own, err := codec.Encode(value)
		check(err)
		fmt.Printf("%s: after the fingerprint the same bytes: %v\n", name, bytes.Equal(own[10:], sent[10:]))
	}
}
GO
go mod tidy 2>/dev/null
node fingerprints.mjs >avsc
go run . | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
text: hamba as avsc true, goavro as avsc true, hamba as goavro true
text: goavro reads hamba's message: true
text: hamba reads goavro's message: true
text: after the fingerprint the same bytes: true
time: hamba as avsc false, goavro as avsc false, hamba as goavro false
time: goavro reads hamba's message: false
time: hamba reads goavro's message: false
time: after the fingerprint the same bytes: true
amount: hamba as avsc false, goavro as avsc false, hamba as goavro false
UUID: hamba as avsc false, goavro as avsc true, hamba as goavro false
no namespace: hamba as avsc false, goavro as avsc true, hamba as goavro false
SEEN
echo "as seen"
