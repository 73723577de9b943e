#!/usr/bin/env bash
# NATS JetStream: a stream with a duplicate window silently drops a sourced message whose Nats-Msg-Id another source used.
#
# Versions: nats-server 2.15.3 (embedded, one node), nats.go 1.55.0.
# Guess:    a message ID is an agreement between a publisher and the stream that it publishes to. Copying from one stream to
#           another is not publishing, so the collecting stream holds every message of both sources.
# Seen:     if a duplicate window is configured for the collecting stream, it applies to sourced messages, too. Both publishers get
#           an ack without `duplicate`, each source holds its message, and the collecting stream holds one of the two. Nothing
#           reports the other. Without a configured window both arrive: the usual default of 2 minutes isn't used there.
# Hurts:    whoever keeps one stream per provider or tenant, uses the provider's event ID as Nats-Msg-Id, and collects the
#           streams into one for processing or archiving. IDs are unique only within a provider. Put the provider into the ID.
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

	names := []string{"STRIPE", "PAYPAL"}
	var sources []*jetstream.StreamSource
	for _, name := range names {
		_, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: []string{name + ".>"}})
		check(err)
		sources = append(sources, &jetstream.StreamSource{Name: name})
	}
	window, err := time.ParseDuration(os.Args[2])
	check(err)
	all, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "ALL", Sources: sources, Duplicates: window})
	check(err)
	for _, name := range names {
		ack, err := js.Publish(ctx, name+".paid", []byte("from "+name), jetstream.WithMsgID("evt_1"))
		check(err)
		fmt.Printf("%s: acknowledged, duplicate %v\n", name, ack.Duplicate)
	}
	// A marker without an ID, published last to each source, shows that the copying has caught up.
	for _, name := range names {
		_, err := js.Publish(ctx, name+".marker", nil)
		check(err)
	}
	for {
		info, err := all.Info(ctx, jetstream.WithSubjectFilter(">"))
		check(err)
		seen := info.State.Subjects
		if seen["STRIPE.marker"] == 1 && seen["PAYPAL.marker"] == 1 {
			fmt.Printf("collected with window %q, in force %s: %d of 2\n", os.Args[2], info.Config.Duplicates, seen["STRIPE.paid"]+seen["PAYPAL.paid"])
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}
GO
go mod tidy 2>/dev/null
for w in 0s 2m; do go run . "$dir/store$w" $w 2>/dev/null; done | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
STRIPE: acknowledged, duplicate false
PAYPAL: acknowledged, duplicate false
collected with window "0s", in force 0s: 2 of 2
STRIPE: acknowledged, duplicate false
PAYPAL: acknowledged, duplicate false
collected with window "2m", in force 2m0s: 1 of 2
SEEN
echo "as seen"
