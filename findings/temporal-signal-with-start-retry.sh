#!/usr/bin/env bash
# Temporal: a retried signal-with-start starts a second run once the first has ended; a retried start doesn't.
#
# Versions: Temporal server 1.29.1 (dev server of the CLI 1.5.1), API of the Go SDK 1.50.0; 1.32.1 on PostgreSQL does the same.
#           Building the CLI takes 4 minutes on 2 cores.
# Guess:    a request ID identifies a request. The same request again, since its answer got lost, returns the run of the first
#           one as long as that exists, whether it was a start or a signal-with-start.
# Seen:     while the run is open, both are recognized. After its end, a start with the same request ID returns the ended run (and
#           says `started`), whatever the policy; a signal-with-start with the same request ID starts another run and signals it.
#           A start is recognized only as long as its run is the newest: after another run under the ID, it starts a third one.
# Hurts:    outboxes that send each event with signal-with-start and the event's ID as request ID, to workflows that end quickly:
#           an event whose answer got lost is processed twice. Let the workflow remember what it has processed where that outlives
#           the run, or use one workflow ID for each event and refuse duplicates.
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
	"io"
	"log/slog"
	"os"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
)

func check(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	quiet := log.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))
	var c client.Client
	for {
		var err error
		if c, err = client.Dial(client.Options{HostPort: os.Args[1], Logger: quiet}); err == nil {
			break
		}
		if ctx.Err() != nil {
			check(err)
		}
		time.Sleep(200 * time.Millisecond)
	}
	kind, queue := &common.WorkflowType{Name: "T"}, &taskqueue.TaskQueue{Name: "none"}
	start := func(id, request string) string {
		r, err := c.WorkflowService().StartWorkflowExecution(ctx, &workflowservice.StartWorkflowExecutionRequest{
			Namespace: "default", WorkflowId: id, WorkflowType: kind, TaskQueue: queue, RequestId: request,
			WorkflowIdReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		})
		check(err)
		return r.GetRunId()
	}
	signal := func(id, request string) string {
		r, err := c.WorkflowService().SignalWithStartWorkflowExecution(ctx, &workflowservice.SignalWithStartWorkflowExecutionRequest{
			Namespace: "default", WorkflowId: id, WorkflowType: kind, TaskQueue: queue, RequestId: request, SignalName: "event",
			WorkflowIdReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		})
		check(err)
		return r.GetRunId()
	}
	for _, request := range []struct {
		name string
		send func(id, request string) string
	}{{"start", start}, {"signal-with-start", signal}} {
		first := request.send(request.name, "event-1")
		open := request.send(request.name, "event-1")
		check(c.TerminateWorkflow(ctx, request.name, first, "the end"))
		ended := request.send(request.name, "event-1")
		fmt.Printf("%s, the same request again: while the run is open, the same run %v; after its end, the same run %v\n",
			request.name, open == first, ended == first)
	}
	check(c.TerminateWorkflow(ctx, "start", start("start", "event-2"), "the end"))
	newest := start("start", "event-2")
	again := start("start", "event-1")
	d, err := c.DescribeWorkflowExecution(ctx, "start", again)
	check(err)
	fmt.Printf("start, the first request again after a second one: the newest run %v, status %v\n",
		again == newest, d.GetWorkflowExecutionInfo().GetStatus())
}
GO
(cd client && go mod tidy 2>/dev/null && go build -o ../run .)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
./temporal server start-dev --ip 127.0.0.1 --port "$port" --headless --log-level never >/dev/null 2>&1 & server=$!
./run "127.0.0.1:$port" | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
start, the same request again: while the run is open, the same run true; after its end, the same run true
signal-with-start, the same request again: while the run is open, the same run true; after its end, the same run false
start, the first request again after a second one: the newest run false, status Running
SEEN
echo "as seen"
