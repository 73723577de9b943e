#!/usr/bin/env bash
# Temporal: after a reset a retried signal is applied a second time, while a retried update isn't.
#
# Versions: Temporal server 1.29.1 (dev server of the CLI 1.5.1), Go SDK 1.50.0. Building the CLI takes 4 minutes on 2 cores.
# Guess:    a reset applies the signals that came after its point again, with their request IDs. So a client that retries a signal
#           with the same request ID, since the first answer got lost, is recognized before and after the reset.
# Seen:     before the reset the retry has no effect. The reset applies the signal again but forgets its request ID: the same
#           retry now adds a second signal. An update is applied again with its update ID, and its retry has no effect in both.
# Hurts:    clients that retry signals with request IDs (payments, stock) while operators reset workflows. Use an update, or let
#           the workflow ignore events whose ID it has seen.
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
	"go.temporal.io/sdk/converter"
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

// Count counts the signals and updates that it gets.
func Count(ctx workflow.Context) error {
	var signals, updates int
	check(workflow.SetQueryHandler(ctx, "counts", func() ([]int, error) { return []int{signals, updates}, nil }))
	check(workflow.SetUpdateHandler(ctx, "update", func(workflow.Context) error { updates++; return nil }))
	for {
		workflow.GetSignalChannel(ctx, "signal").Receive(ctx, nil)
		signals++
	}
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var c client.Client
	for {
		var err error
		if c, err = client.Dial(client.Options{HostPort: os.Args[1], Logger: silent{}}); err == nil {
			break
		}
		if ctx.Err() != nil {
			check(err)
		}
		time.Sleep(200 * time.Millisecond)
	}
	w := worker.New(c, "queue", worker.Options{})
	w.RegisterWorkflow(Count)
	check(w.Start())
	defer w.Stop()

	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: "counter", TaskQueue: "queue"}, Count)
	check(err)
	send := func() {
		nothing, err := converter.GetDefaultDataConverter().ToPayloads("x")
		check(err)
		_, err = c.WorkflowService().SignalWorkflowExecution(ctx, &workflowservice.SignalWorkflowExecutionRequest{
			Namespace: "default", WorkflowExecution: &common.WorkflowExecution{WorkflowId: "counter"},
			SignalName: "signal", Input: nothing, RequestId: "delivery-1",
		})
		check(err)
		h, err := c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
			WorkflowID: "counter", UpdateID: "delivery-1", UpdateName: "update", WaitForStage: client.WorkflowUpdateStageCompleted,
		})
		check(err)
		check(h.Get(ctx, nil))
	}
	show := func(when string) {
		v, err := c.QueryWorkflow(ctx, "counter", "", "counts")
		check(err)
		var counts []int
		check(v.Get(&counts))
		fmt.Printf("%s: %d signals, %d updates\n", when, counts[0], counts[1])
	}
	send()
	show("sent")
	send()
	show("sent again")
	_, err = c.ResetWorkflowExecution(ctx, &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: "default", WorkflowExecution: &common.WorkflowExecution{WorkflowId: "counter", RunId: run.GetRunID()},
		Reason: "finding", WorkflowTaskFinishEventId: 4, RequestId: "reset-1",
	})
	check(err)
	show("after the reset")
	send()
	show("sent again")
}
GO
(cd client && go mod tidy 2>/dev/null && go build -o ../run .)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
./temporal server start-dev --ip 127.0.0.1 --port "$port" --headless --log-level never >/dev/null 2>&1 & server=$!
./run "127.0.0.1:$port" | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
sent: 1 signals, 1 updates
sent again: 1 signals, 1 updates
after the reset: 1 signals, 1 updates
sent again: 2 signals, 1 updates
SEEN
echo "as seen"
