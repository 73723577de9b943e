#!/usr/bin/env bash
# NATS JetStream: a scheduled message arrives with all its headers except for its message ID.
#
# Versions: nats-server 2.15.3 (embedded, one node), nats.go 1.55.0.
# Guess:    a message that is stored for later delivery (schedules are new in 2.12) arrives as it was published, with
#           Nats-Msg-Id, by which consumers ignore repeats.
# Seen:     the server removes Nats-Msg-Id, keeps the sender's other headers, and adds its own. Only the publication of the
#           schedule is deduplicated: the delivered message has no ID that a consumer or a stream could compare.
# Hurts:    consumers that deduplicate by Nats-Msg-Id, as for all other messages: every scheduled one has an empty ID, so they
#           ignore all of them after the first, or none. Send the ID in a header of your own as well.
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
	"fmt"
	"os"
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
		Name: "REMINDERS", Subjects: []string{"later.>", "due.>"}, AllowMsgSchedules: true, AllowMsgTTL: true,
	})
	check(err)
	m := nats.NewMsg("later.1")
	m.Header.Set("Nats-Schedule", "@at "+time.Now().Add(time.Second).UTC().Format(time.RFC3339))
	m.Header.Set("Nats-Schedule-Target", "due.1")
	m.Header.Set("Nats-Msg-Id", "evt_1")
	m.Header.Set("Webhook-Id", "evt_1")
	_, err = js.PublishMsg(ctx, m)
	check(err)
	for {
		due, err := stream.GetLastMsgForSubject(ctx, "due.1")
		if err == nil {
			fmt.Printf("Nats-Msg-Id %q, Webhook-Id %q\n", due.Header.Get("Nats-Msg-Id"), due.Header.Get("Webhook-Id"))
			return
		}
		if ctx.Err() != nil {
			check(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
GO
go mod tidy 2>/dev/null
go run . "$dir/store" 2>/dev/null | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
Nats-Msg-Id "", Webhook-Id "evt_1"
SEEN
echo "as seen"
