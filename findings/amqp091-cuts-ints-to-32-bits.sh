#!/usr/bin/env bash
# RabbitMQ with amqp091-go: a Go int in headers or queue arguments loses all but its lowest 32 bits, without an error.
#
# Versions: amqp091-go 1.16.0 (Go 1.26, 64 bits), RabbitMQ 3.10.8 with Erlang 25 (packages of Debian 12).
# Guess:    `int` is in the package's list of the types that a table may hold, and has 64 bits. It is sent as the protocol's 64-bit
#           integer, or a number that doesn't fit is refused, as unsupported types are.
# Seen:     an int is always sent as 32 bits. A header with 5000000000 arrives as 705032704. A queue declared with a limit of 8 GiB
#           gets the limit 0: each message is confirmed, and dropped at once. With int64 both are right.
# Hurts:    publishers with account numbers, amounts or times in milliseconds in headers: receivers route and deduplicate by another
#           number. Go makes an int of each whole constant without a type, so it is easily done. Write int64(...) in every table.
set -euo pipefail
dir=$(mktemp -d); pids=(); trap 'for p in "${pids[@]}"; do kill "$p" && wait "$p" || true; done 2>/dev/null; rm -rf "$dir"' EXIT; cd "$dir"
mkdir client debs home server
cat >client/go.mod <<'MOD'
module finding
go 1.26
require github.com/rabbitmq/amqp091-go v1.16.0
MOD
cat >client/main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

func check(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

// connect waits until the server has started.
func connect(ctx context.Context) *amqp.Connection {
	for {
		c, err := amqp.Dial(os.Args[1])
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
	ch, err := connect(ctx).Channel()
	check(err)
	check(ch.Confirm(false))
	publish := func(queue string, headers amqp.Table) bool {
		c, err := ch.PublishWithDeferredConfirmWithContext(ctx, "", queue, true, false, amqp.Publishing{Headers: headers, Body: []byte("paid")})
		check(err)
		confirmed, err := c.WaitContext(ctx)
		check(err)
		return confirmed
	}

	_, err = ch.QueueDeclare("headers", false, false, false, false, nil)
	check(err)
	publish("headers", amqp.Table{"account": 5000000000, "account64": int64(5000000000)})
	m, _, err := ch.Get("headers", true)
	check(err)
	fmt.Printf("sent 5000000000 as int, received %[1]v as %[1]T\n", m.Headers["account"])
	fmt.Printf("sent 5000000000 as int64, received %[1]v as %[1]T\n", m.Headers["account64"])

	for name, limit := range map[string]any{"int": 8 << 30, "int64": int64(8 << 30)} {
		_, err := ch.QueueDeclare(name, false, false, false, false, amqp.Table{"x-max-length-bytes": limit})
		check(err)
	}
	for _, name := range []string{"int", "int64"} {
		confirmed := publish(name, nil)
		q, err := ch.QueueDeclarePassive(name, false, false, false, false, nil)
		check(err)
		fmt.Printf("a limit of 8 GiB as %s: confirmed %v, messages %d\n", name, confirmed, q.Messages)
	}
}
GO
(cd client && go mod tidy 2>/dev/null && go build -o ../run .)

# RabbitMQ, in this folder and on loopback only.
(cd debs && apt-get -qq download rabbitmq-server erlang-{asn1,base,crypto,eldap,inets,mnesia,os-mon,parsetools} \
	erlang-{public-key,runtime-tools,ssl,syntax-tools,tools,xmerl} >/dev/null 2>&1)
for deb in debs/*.deb; do dpkg -x "$deb" server; done
port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
erlang=$dir/server/usr/lib/erlang; programs=$(echo "$erlang"/erts-*/bin); names=$(port); amqp=$(port)
printf '#!/bin/sh\nexec %s/erlexec "$@"\n' "$programs" >home/erl
chmod +x home/erl
echo '[].' >home/plugins
"$programs/epmd" -address 127.0.0.1 -port "$names" & pids=($!)
env HOME="$dir/home" ROOTDIR="$erlang" BINDIR="$programs" EMU=beam PROGNAME=erl PATH="$dir/home:$PATH" ERL_EPMD_PORT="$names" \
	RABBITMQ_NODENAME=finding@localhost RABBITMQ_NODE_IP_ADDRESS=127.0.0.1 RABBITMQ_NODE_PORT="$amqp" RABBITMQ_DIST_PORT="$(port)" \
	RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS='-kernel inet_dist_use_interface {127,0,0,1}' RABBITMQ_CONF_ENV_FILE=/dev/null \
	RABBITMQ_MNESIA_BASE="$dir/home/data" RABBITMQ_LOG_BASE="$dir/home/log" RABBITMQ_CONFIG_FILE="$dir/home/none" \
	RABBITMQ_ENABLED_PLUGINS_FILE="$dir/home/plugins" \
	"$(echo server/usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin)/rabbitmq-server" >home/out 2>&1 & pids=($! "${pids[@]}")
./run "amqp://guest:guest@127.0.0.1:$amqp/" | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
sent 5000000000 as int, received 705032704 as int32
sent 5000000000 as int64, received 5000000000 as int64
a limit of 8 GiB as int: confirmed true, messages 0
a limit of 8 GiB as int64: confirmed true, messages 1
SEEN
echo "as seen"
