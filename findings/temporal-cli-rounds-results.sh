#!/usr/bin/env bash
# The temporal CLI shows and stores other numbers than it gets: results, queries, memos and search attributes above 2^53.
#
# Versions: CLI 1.5.1 with its dev server 1.29.1, Go SDK 1.50.0. Building the CLI takes 4 minutes on 2 cores.
# Guess:    since --input is sent byte for byte, and an Int search attribute has 64 bits, the CLI handles JSON numbers as text: it
#           shows what a workflow returned, and stores what was typed.
# Seen:     a result and a query of 9007199254740993 are shown as 9007199254740992, also with --output json; the SDK reads the right
#           one. A memo and a search attribute given on the command line are stored rounded: a filter for the number typed finds
#           nothing, one for its neighbor finds the run. `workflow show --output json` has the payload untouched, in base64.
# Hurts:    operators and scripts that take large IDs, such as snowflakes, out of results, or find runs by them: they look up, refund
#           or repair another one. Carry such IDs as text.
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

const order int64 = 9007199254740993 // 2^53 + 1

func Order(ctx workflow.Context) (int64, error) {
	return order, workflow.SetQueryHandler(ctx, "order", func() (int64, error) { return order, nil })
}

// It works on the queue until it is ended; given the ID of a run, it prints the run's result, as the SDK reads it.
func main() {
	c, err := client.Dial(client.Options{HostPort: os.Getenv("TEMPORAL_ADDRESS"), Logger: silent{}})
	check(err)
	if len(os.Args) == 2 {
		var result int64
		check(c.GetWorkflow(context.Background(), os.Args[1], "").Get(context.Background(), &result))
		fmt.Println(result)
		return
	}
	w := worker.New(c, "queue", worker.Options{})
	w.RegisterWorkflow(Order)
	check(w.Start())
	time.Sleep(2 * time.Minute)
}
GO
(cd client && go mod tidy 2>/dev/null && go build -o ../run .)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
./temporal server start-dev --ip 127.0.0.1 --port "$port" --headless --search-attribute Number=Int --log-level never >/dev/null 2>&1 & server=$!
export TEMPORAL_ADDRESS=127.0.0.1:$port HOME=$dir
for _ in $(seq 100); do ./temporal operator cluster health >/dev/null 2>&1 && break; sleep 0.2; done
./run & worker=$!
trap 'kill "$worker" "$server"; rm -rf "$dir"' EXIT
./temporal workflow start --workflow-id order --type Order --task-queue queue --memo 'order=9007199254740993' \
	--search-attribute 'Number=9007199254740993' >/dev/null
field() { python3 -c "import json, sys; r = json.load(sys.stdin); print($1)"; }
count() { ./temporal workflow count --query "$1" | grep -o '[0-9]*$'; }
{
	echo "result, the SDK: $(./run order)"
	echo "result, the CLI: $(./temporal workflow result --workflow-id order --output json | field 'r["result"]')"
	echo "query, the CLI: $(./temporal workflow query --workflow-id order --type order --output json | field 'r["queryResult"][0]')"
	for _ in $(seq 50); do [ "$(count 'WorkflowId = "order"')" = 1 ] && break; sleep 0.2; done
	for number in 9007199254740993 9007199254740992; do
		echo "runs with the attribute $number: $(count "Number = $number")"
	done
	./temporal workflow show --workflow-id order --output json | python3 -c '
import base64, json, sys
events = json.load(sys.stdin)["events"]
number = lambda payload: base64.b64decode(payload["data"]).decode()
print("memo, stored:", number(events[0]["workflowExecutionStartedEventAttributes"]["memo"]["fields"]["order"]))
print("result, stored:", number(events[-1]["workflowExecutionCompletedEventAttributes"]["result"]["payloads"][0]))'
} | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
result, the SDK: 9007199254740993
result, the CLI: 9007199254740992
query, the CLI: 9007199254740992
runs with the attribute 9007199254740993: 0
runs with the attribute 9007199254740992: 1
memo, stored: 9007199254740992
result, stored: 9007199254740993
SEEN
echo "as seen"
