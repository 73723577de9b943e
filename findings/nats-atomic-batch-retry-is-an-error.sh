#!/usr/bin/env bash
# NATS JetStream: retrying an atomic batch whose ack was lost fails, and the error doesn't say that the batch is stored.
#
# Versions: nats-server 2.15.3 (embedded, one node), nats.go 1.55.0.
# Guess:    atomic batches (new in 2.12) treat Nats-Msg-Id as single messages do: a retry is acknowledged with `duplicate`
#           and the sequence of the first time, so that publishers retry until they get an ack.
# Seen:     a single retried message is acknowledged with `"duplicate": true`. The same batch, sent again with the same IDs, ends
#           with error 10201 (the batch contains a duplicate message ID), sequence 0. A batch in which just one message was
#           stored before gets the same error, and none of its other messages is stored.
# Hurts:    publishers with an outbox that move to batches: the error means "all of it is stored" or "none of it is, and never
#           will be", and the publisher can't tell which. Ask for the messages by ID or subject before a retry.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT; cd "$dir"
cat >go.mod <<'MOD'
module finding
go 1.26
require (
	github.com/nats-io/nats-server/v2 v2.15.3
	github.com/nats-io/nats.go v1.55.0
)
MOD
cat >main.go <<'GO'
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func check(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

// publish sends one message and returns what the server answered: nothing for the messages of a batch before its last one.
func publish(nc *nats.Conn, id, batch string, number int, last bool) string {
	m := nats.NewMsg("orders.paid")
	m.Header.Set("Nats-Msg-Id", id)
	if batch != "" {
		m.Header.Set("Nats-Batch-Id", batch)
		m.Header.Set("Nats-Batch-Sequence", strconv.Itoa(number))
	}
	if last {
		m.Header.Set("Nats-Batch-Commit", "1")
	}
	r, err := nc.RequestMsg(m, 5*time.Second)
	check(err)
	if len(r.Data) == 0 {
		return ""
	}
	var answer struct {
		Duplicate bool
		Count     int
		Error     *struct {
			Code int `json:"err_code"`
		}
	}
	check(json.Unmarshal(r.Data, &answer))
	if answer.Error != nil {
		return fmt.Sprintf("error %d", answer.Error.Code)
	}
	return fmt.Sprintf("acknowledged, duplicate %v, count %d", answer.Duplicate, answer.Count)
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: os.Args[1], NoSigs: true})
	check(err)
	s.Start()
	defer s.Shutdown()
	s.ReadyForConnections(10 * time.Second)
	nc, err := nats.Connect(s.ClientURL())
	check(err)
	js, err := jetstream.New(nc)
	check(err)
	stream, err := js.CreateStream(ctx, jetstream.StreamConfig{
		Name: "ORDERS", Subjects: []string{"orders.>"}, AllowAtomicPublish: true,
	})
	check(err)
	for _, attempt := range []string{"first", "retry"} {
		fmt.Println("one message,", attempt+":", publish(nc, "evt_1", "", 0, false))
	}
	for _, attempt := range []string{"first", "retry"} {
		publish(nc, "evt_2", "batch-1", 1, false)
		fmt.Println("a batch,", attempt+":", publish(nc, "evt_3", "batch-1", 2, true))
	}
	publish(nc, "evt_4", "batch-2", 1, false)
	fmt.Println("a batch with one known ID:", publish(nc, "evt_1", "batch-2", 2, true))
	info, err := stream.Info(ctx)
	check(err)
	fmt.Println("stored:", info.State.Msgs)
}
GO
go mod tidy 2>/dev/null
go run . "$dir/store" 2>/dev/null | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
one message, first: acknowledged, duplicate false, count 0
one message, retry: acknowledged, duplicate true, count 0
a batch, first: acknowledged, duplicate false, count 2
a batch, retry: error 10201
a batch with one known ID: error 10201
stored: 3
SEEN
echo "as seen"
