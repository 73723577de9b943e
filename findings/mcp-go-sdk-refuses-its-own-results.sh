#!/usr/bin/env bash
# MCP's Go SDK: calls of tools with plain Go results fail against the schema that the SDK made of them, after the tool has run.
#
# Version:  modelcontextprotocol/go-sdk 1.8.0 (Go 1.26), client and server.
# Guess:    AddTool makes the output schema of the result's Go type, so whatever the handler returns without an error fits it, or
#           AddTool refuses the type.
# Seen:     bytes, raw JSON, UUIDs, addresses, numbers as text, json.Number and a nil map don't fit the schemas of their own types. AddTool
#           takes them. The handler runs, and then the call ends with a protocol error, not with a tool's error (isError). A nil
#           slice is fine.
# Hurts:    tools that change something: the work is done, the agent sees a failure, and tries again. A map fails only on the day it
#           is empty. Call each tool once in a test, with full and empty results; return strings, and make(map...).
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT; cd "$dir"
cat >go.mod <<'MOD'
module finding
go 1.26
require (
	github.com/google/uuid v1.6.0
	github.com/modelcontextprotocol/go-sdk v1.8.0
)
MOD
cat >main.go <<'GO'
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func check(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

type result[T any] struct {
	Value T `json:"value"`
}

type asText struct {
	Value int `json:"value,string"`
}

var ran bool

// call adds a tool that returns the result, calls it once, and prints what its caller sees.
func call[T any](name string, output T) {
	ctx := context.Background()
	info := &mcp.Implementation{Name: "orders", Version: "1"}
	server := mcp.NewServer(info, nil)
	ran = false
	mcp.AddTool(server, &mcp.Tool{Name: "act"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, T, error) {
		ran = true
		return nil, output, nil
	})
	here, there := mcp.NewInMemoryTransports()
	_, err := server.Connect(ctx, here, nil)
	check(err)
	client, err := mcp.NewClient(info, nil).Connect(ctx, there, nil)
	check(err)
	defer client.Close()
	_, err = client.CallTool(ctx, &mcp.CallToolParams{Name: "act"})
	protocol := new(jsonrpc.Error)
	fmt.Printf("%s: ran %v, the call succeeds %v, a protocol error %v\n", name, ran, err == nil, errors.As(err, &protocol))
}

func main() {
	call("text", result[string]{"paid"})
	call("nil slice", result[[]string]{})
	call("full map", result[map[string]int]{map[string]int{"paid": 1}})
	call("nil map", result[map[string]int]{})
	call("bytes", result[[]byte]{[]byte("paid")})
	call("raw JSON", result[json.RawMessage]{json.RawMessage(`{"paid":1}`)})
	call("UUID", result[uuid.UUID]{uuid.New()})
	call("address", result[netip.Addr]{netip.MustParseAddr("127.0.0.1")})
	call("json.Number", result[json.Number]{"1"})
	call("int as text", asText{1})
}
GO
go mod tidy 2>/dev/null
go run . | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
text: ran true, the call succeeds true, a protocol error false
nil slice: ran true, the call succeeds true, a protocol error false
full map: ran true, the call succeeds true, a protocol error false
nil map: ran true, the call succeeds false, a protocol error true
bytes: ran true, the call succeeds false, a protocol error true
raw JSON: ran true, the call succeeds false, a protocol error true
UUID: ran true, the call succeeds false, a protocol error true
address: ran true, the call succeeds false, a protocol error true
json.Number: ran true, the call succeeds false, a protocol error true
int as text: ran true, the call succeeds false, a protocol error true
SEEN
echo "as seen"
