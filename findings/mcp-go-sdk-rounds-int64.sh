#!/usr/bin/env bash
# MCP's Go SDK: a tool with an int64 in its typed input or output gets and gives another number above 2^53.
#
# Version:  modelcontextprotocol/go-sdk 1.8.0 (Go 1.26), client and server.
# Guess:    AddTool decodes the arguments into the tool's struct, and encodes its result, as encoding/json does: an int64 keeps its value.
# Seen:     both pass through a map of float64 first, to be checked against the schema. A call with 9007199254740993 runs the handler with
#           9007199254740992, while the request beside it still has the right bytes; a result of 9007199254740993 is sent as
#           9007199254740992, in the structured content and in the text. No error. Server.AddTool, without types, is exact.
# Hurts:    tools that take or return numeric IDs, such as snowflakes: an agent cancels, refunds or deletes another one than it named.
#           Make IDs strings in tools.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT; cd "$dir"
cat >go.mod <<'MOD'
module finding
go 1.26
require github.com/modelcontextprotocol/go-sdk v1.8.0
MOD
cat >main.go <<'GO'
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func check(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

type Order struct {
	ID int64 `json:"id"`
}

const id int64 = 9007199254740993 // 2^53 + 1

func typed(_ context.Context, r *mcp.CallToolRequest, o Order) (*mcp.CallToolResult, Order, error) {
	fmt.Printf("typed: the request has %s, the handler gets %d\n", r.Params.Arguments, o.ID)
	return nil, Order{ID: id}, nil
}

func untyped(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var o Order
	check(json.Unmarshal(r.Params.Arguments, &o))
	fmt.Printf("untyped: the request has %s, the handler gets %d\n", r.Params.Arguments, o.ID)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(`{"id":%d}`, id)}}}, nil
}

func main() {
	ctx := context.Background()
	info := &mcp.Implementation{Name: "orders", Version: "1"}
	server := mcp.NewServer(info, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "typed"}, typed)
	server.AddTool(&mcp.Tool{Name: "untyped", InputSchema: json.RawMessage(`{"type":"object"}`)}, untyped)
	here, there := mcp.NewInMemoryTransports()
	_, err := server.Connect(ctx, here, nil)
	check(err)
	client, err := mcp.NewClient(info, nil).Connect(ctx, there, nil)
	check(err)
	for _, name := range []string{"typed", "untyped"} {
		r, err := client.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: Order{ID: id}})
		check(err)
		fmt.Printf("%s: the handler returned %d, the client reads %s\n", name, id, r.Content[0].(*mcp.TextContent).Text)
	}
}
GO
go mod tidy 2>/dev/null
go run . | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
typed: the request has {"id":9007199254740993}, the handler gets 9007199254740992
typed: the handler returned 9007199254740993, the client reads {"id":9007199254740992}
untyped: the request has {"id":9007199254740993}, the handler gets 9007199254740993
untyped: the handler returned 9007199254740993, the client reads {"id":9007199254740993}
SEEN
echo "as seen"
