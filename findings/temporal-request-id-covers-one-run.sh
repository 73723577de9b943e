#!/usr/bin/env bash
# Temporal: a retried start with the same request ID starts the workflow again if another run came between.
#
# Versions: Temporal server 1.29.1 (dev server of the CLI 1.5.1), Go SDK 1.50.0. Building the CLI takes 4 minutes on 2 cores.
# Guess:    a request ID makes a start idempotent: whoever repeats it gets the run that it started, as long as that run is kept.
# Seen:     it is compared with the latest run under the workflow's ID only. After A started run 1, and B started run 2, a
#           repetition of A's request starts run 3. Without B it is answered with run 1, even though that run has ended.
# Hurts:    outboxes and gateways that repeat a start after a lost answer, under an ID that may be used again (the default policy):
#           the work is done twice. Only a policy that refuses the ID of an ended run prevents it.
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
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
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

func Ended(workflow.Context) error { return nil }

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c := connect(ctx)
	w := worker.New(c, "queue", worker.Options{})
	w.RegisterWorkflow(Ended)
	check(w.Start())
	defer w.Stop()
	start := func(id, request string) string {
		r, err := c.WorkflowService().StartWorkflowExecution(ctx, &workflowservice.StartWorkflowExecutionRequest{
			Namespace: "default", WorkflowId: id, WorkflowType: &common.WorkflowType{Name: "Ended"}, RequestId: request,
			TaskQueue: &taskqueue.TaskQueue{Name: "queue"},
		})
		check(err)
		check(c.GetWorkflow(ctx, id, r.GetRunId()).Get(ctx, nil))
		return r.GetRunId()
	}
	first := start("alone", "A")
	fmt.Println("A, A again: the second answer names the first run", start("alone", "A") == first)
	first = start("between", "A")
	second := start("between", "B")
	third := start("between", "A")
	fmt.Println("A, B, A again: the third answer names the first run", third == first, "- or the second", third == second)
}
GO
(cd client && go mod tidy 2>/dev/null && go build -o ../run .)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
./temporal server start-dev --ip 127.0.0.1 --port "$port" --headless --log-level never >/dev/null 2>&1 & server=$!
./run "127.0.0.1:$port" | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
A, A again: the second answer names the first run true
A, B, A again: the third answer names the first run false - or the second false
SEEN
echo "as seen"
