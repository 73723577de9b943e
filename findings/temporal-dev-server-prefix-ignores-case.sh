#!/usr/bin/env bash
# Temporal's dev server: STARTS_WITH ignores case, = doesn't, and BETWEEN doesn't either.
#
# Versions: Temporal server 1.29.1 (dev server of the CLI 1.5.1), Go SDK 1.50.0. Building the CLI takes 4 minutes on 2 cores.
# Guess:    a Keyword is compared by its bytes in each operator, as by a server on PostgreSQL or Elasticsearch.
# Seen:     WorkflowId STARTS_WITH "evt_" also lists EVT_1, and STARTS_WITH "EVT_" lists evt_1. = and BETWEEN keep them apart. An
#           underscore is no wildcard.
# Hurts:    whoever tries a batch (reset, cancel, terminate --query) on the dev server, or has tests there: IDs that differ only by
#           case, as random ones in base64 or base62 do, are taken in here and left out in production. BETWEEN "evt_" AND "evt`"
#           means the same on both.
set -euo pipefail
dir=$(mktemp -d); server=""; trap '[ -z "$server" ] || kill "$server"; rm -rf "$dir"' EXIT; cd "$dir"
mkdir client
GOBIN=$dir go install -tags disable_grpc_modules github.com/temporalio/cli/cmd/temporal@v1.5.1 2>/dev/null
cat >client/go.mod <<'MOD'
module finding
go 1.26
require go.temporal.io/sdk v1.50.0
MOD
cat >client/main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
)

type silent struct{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}

var _ log.Logger = silent{}

func check(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

func connect(ctx context.Context) client.Client {
	for {
		c, err := client.Dial(client.Options{HostPort: os.Args[1], Logger: silent{}})
		if err == nil {
			return c
		}
		if ctx.Err() != nil {
			check(err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c := connect(ctx)
	for _, id := range []string{"evt_1", "EVT_1", "evtX1"} {
		_, err := c.WorkflowService().StartWorkflowExecution(ctx, &workflowservice.StartWorkflowExecutionRequest{
			Namespace: "default", WorkflowId: id, WorkflowType: &common.WorkflowType{Name: "None"}, RequestId: id,
			TaskQueue: &taskqueue.TaskQueue{Name: "queue"},
		})
		check(err)
	}
	list := func(query string) map[string]bool {
		r, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: "default", Query: query})
		check(err)
		found := map[string]bool{}
		for _, run := range r.GetExecutions() {
			found[run.GetExecution().GetWorkflowId()] = true
		}
		return found
	}
	for len(list(`WorkflowType = "None"`)) < 3 {
		check(ctx.Err())
		time.Sleep(200 * time.Millisecond)
	}
	for _, query := range []string{
		`WorkflowId STARTS_WITH "evt_"`, `WorkflowId STARTS_WITH "EVT_"`, `WorkflowId = "evt_1"`, "WorkflowId BETWEEN \"evt_\" AND \"evt`\"",
	} {
		fmt.Println(query, list(query))
	}
}
GO
(cd client && go mod tidy 2>/dev/null && go build -o ../run .)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
./temporal server start-dev --ip 127.0.0.1 --port "$port" --headless --log-level never >/dev/null 2>&1 & server=$!
./run "127.0.0.1:$port" | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
WorkflowId STARTS_WITH "evt_" map[EVT_1:true evt_1:true]
WorkflowId STARTS_WITH "EVT_" map[EVT_1:true evt_1:true]
WorkflowId = "evt_1" map[evt_1:true]
WorkflowId BETWEEN "evt_" AND "evt`" map[evt_1:true]
SEEN
echo "as seen"
