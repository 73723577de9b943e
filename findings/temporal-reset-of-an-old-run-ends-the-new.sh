#!/usr/bin/env bash
# Temporal: resetting a run that ended terminates a newer run under the same workflow ID.
#
# Versions: Temporal server 1.29.1 (dev server of the CLI 1.5.1), Go SDK 1.50.0. Building the CLI takes 4 minutes on 2 cores.
# Guess:    a reset that names the ID of an ended run touches that run, or is refused while another run holds the workflow ID.
# Seen:     it succeeds. The newer run, which was started by itself with an input of its own and isn't named in the request, is
#           terminated, and the copy of the old run takes its place with the old input. The answer doesn't tell.
# Hurts:    operators who repair yesterday's failed run by its run ID while today's run is at work: today's work is cut off.
#           Look for a running run under the workflow ID first.
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

func Step(ctx workflow.Context, input string) error {
	if input == "today" {
		return workflow.Sleep(ctx, time.Hour)
	}
	return nil
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c := connect(ctx)
	w := worker.New(c, "queue", worker.Options{})
	w.RegisterWorkflow(Step)
	check(w.Start())
	defer w.Stop()
	start := func(input string) client.WorkflowRun {
		run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: "job", TaskQueue: "queue"}, Step, input)
		check(err)
		return run
	}
	status := func(run string) string {
		d, err := c.DescribeWorkflowExecution(ctx, "job", run)
		check(err)
		return d.GetWorkflowExecutionInfo().GetStatus().String()
	}
	yesterday := start("yesterday")
	check(yesterday.Get(ctx, nil))
	today := start("today")
	fmt.Println("today's run before:", status(today.GetRunID()))
	_, err := c.ResetWorkflowExecution(ctx, &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: "default", WorkflowTaskFinishEventId: 4, Reason: "repair", RequestId: "1",
		WorkflowExecution: &common.WorkflowExecution{WorkflowId: "job", RunId: yesterday.GetRunID()},
	})
	fmt.Println("reset of yesterday's run: succeeds", err == nil)
	fmt.Println("today's run after:", status(today.GetRunID()))
}
GO
(cd client && go mod tidy 2>/dev/null && go build -o ../run .)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
./temporal server start-dev --ip 127.0.0.1 --port "$port" --headless --log-level never >/dev/null 2>&1 & server=$!
./run "127.0.0.1:$port" | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
today's run before: Running
reset of yesterday's run: succeeds true
today's run after: Terminated
SEEN
echo "as seen"
