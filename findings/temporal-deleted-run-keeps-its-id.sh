#!/usr/bin/env bash
# Temporal: starting a workflow under the ID of a deleted run succeeds, and starts nothing, if the deleted run had ended.
#
# Versions: Temporal server 1.29.1 (dev server of the CLI 1.5.1), Go SDK 1.50.0. Building the CLI takes 4 minutes on 2 cores.
# Guess:    `temporal workflow delete` answers once the run is gone, or for ended runs no later than for running ones. A start
#           under its ID then either starts a new run or is refused.
# Seen:     a running run is gone when the command returns. An ended one can still be described, and keeps its ID for about
#           20 seconds. A start with another request ID is refused as a duplicate; a retried start with the run's own request
#           ID (a stable one, as an outbox uses) is answered with success and the ID of the run that is being deleted. Then the
#           run disappears, and nothing was started.
# Hurts:    operators who delete a run so that its event runs again, and whoever takes the answer to the start for a promise.
#           After a delete, wait until describing the run says not found, then start.
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
	"errors"
	"fmt"
	"os"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
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

func Ended(workflow.Context) error       { return nil }
func Running(ctx workflow.Context) error { return workflow.Sleep(ctx, time.Hour) }

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
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
	w.RegisterWorkflow(Ended)
	w.RegisterWorkflow(Running)
	check(w.Start())
	defer w.Stop()
	for _, kind := range []string{"Running", "Ended"} {
		try(ctx, c, kind)
	}
}

func try(ctx context.Context, c client.Client, kind string) {
	start := func(request string) (string, error) {
		r, err := c.WorkflowService().StartWorkflowExecution(ctx, &workflowservice.StartWorkflowExecutionRequest{
			Namespace: "default", WorkflowId: kind, WorkflowType: &common.WorkflowType{Name: kind}, RequestId: request,
			TaskQueue:             &taskqueue.TaskQueue{Name: "queue"},
			WorkflowIdReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		})
		return r.GetRunId(), err
	}
	exists := func(run string) bool {
		_, err := c.DescribeWorkflowExecution(ctx, kind, run)
		var missing *serviceerror.NotFound
		if err != nil && !errors.As(err, &missing) {
			check(err)
		}
		return err == nil
	}
	first, err := start("outbox-1")
	check(err)
	if kind == "Ended" {
		check(c.GetWorkflow(ctx, kind, first).Get(ctx, nil))
	}
	_, err = c.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: "default", WorkflowExecution: &common.WorkflowExecution{WorkflowId: kind},
	})
	check(err)
	fmt.Printf("%s, deleted: exists %v\n", kind, exists(first))
	if kind == "Ended" {
		_, err = start("outbox-2")
		fmt.Println("  start with another request ID: refused", err != nil)
	}
	second, err := start("outbox-1")
	check(err)
	fmt.Println("  start with its request ID: succeeds, answer names the deleted run", second == first)
	if second != first {
		return
	}
	for exists(first) {
		time.Sleep(200 * time.Millisecond)
	}
	fmt.Println("  later: a run exists", exists(""))
}
GO
(cd client && go mod tidy 2>/dev/null && go build -o ../run .)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
./temporal server start-dev --ip 127.0.0.1 --port "$port" --headless --log-level never >/dev/null 2>&1 & server=$!
./run "127.0.0.1:$port" | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
Running, deleted: exists false
  start with its request ID: succeeds, answer names the deleted run false
Ended, deleted: exists true
  start with another request ID: refused true
  start with its request ID: succeeds, answer names the deleted run true
  later: a run exists false
SEEN
echo "as seen"
