#!/usr/bin/env bash
# NATS JetStream: what a worker says about a delivery that has expired counts for the delivery that replaced it.
#
# Versions: nats-server 2.15.3 (embedded, one node), nats.go 1.55.0.
# Guess:    the reply subject has the delivery's number. So an answer to an expired delivery is ignored, or an error, once the message
#           is with another worker.
# Seen:     a late Nak sends the message a third time at once, while the second worker holds it, and uses up one of MaxDeliver's tries. A
#           late Term or Ack ends the message under the second worker: if that one fails, nobody gets it again. All of it
#           succeeds, and so does the second worker's own ack afterwards, even with a confirmation (DoubleAck).
# Hurts:    workers that answer after AckWait, as they do under load: each late Nak makes one more copy run beside the others, and a
#           late Term loses a message that only the second worker could process. Once AckWait is over, don't answer.
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

// fetch returns the next message within the time, or nil.
func fetch(c jetstream.Consumer, wait time.Duration) jetstream.Msg {
	batch, err := c.Fetch(1, jetstream.FetchMaxWait(wait))
	check(err)
	return <-batch.Messages()
}

func delivery(m jetstream.Msg) string {
	if m == nil {
		return "none"
	}
	info, err := m.Metadata()
	check(err)
	return fmt.Sprint("number ", info.NumDelivered)
}

const ackWait = 2 * time.Second

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
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
	for _, answer := range []string{"silence", "nak", "term", "ack"} {
		stream, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: answer, Subjects: []string{"orders." + answer}})
		check(err)
		c, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{Durable: "workers", AckWait: ackWait, MaxDeliver: 3})
		check(err)
		_, err = js.Publish(ctx, "orders."+answer, nil)
		check(err)
		late(ctx, c, answer)
	}
}

// late has a first worker that answers after its delivery has expired, and a second one that holds the message by then.
func late(ctx context.Context, c jetstream.Consumer, answer string) {
	first := fetch(c, time.Second)
	second := fetch(c, 2*ackWait)
	var err error
	switch answer {
	case "nak":
		err = first.Nak()
	case "term":
		err = first.Term()
	case "ack":
		err = first.DoubleAck(ctx)
	}
	third := fetch(c, ackWait/2)
	fmt.Printf("late %s: error %v; another delivery at once: %s\n", answer, err, delivery(third))
	info, err := c.Info(ctx)
	check(err)
	fmt.Println("\tunacknowledged while the second worker is at work:", info.NumAckPending)
	if answer == "nak" {
		fmt.Println("\tanother one after that has expired, too:", delivery(fetch(c, 2*ackWait)))
	}
	fmt.Println("\tthe second worker's ack, confirmed: error", second.DoubleAck(ctx))
}
GO
go mod tidy 2>/dev/null
go run . "$dir/store" 2>/dev/null | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
late silence: error <nil>; another delivery at once: none
	unacknowledged while the second worker is at work: 1
	the second worker's ack, confirmed: error <nil>
late nak: error <nil>; another delivery at once: number 3
	unacknowledged while the second worker is at work: 1
	another one after that has expired, too: none
	the second worker's ack, confirmed: error <nil>
late term: error <nil>; another delivery at once: none
	unacknowledged while the second worker is at work: 0
	the second worker's ack, confirmed: error <nil>
late ack: error <nil>; another delivery at once: none
	unacknowledged while the second worker is at work: 0
	the second worker's ack, confirmed: error <nil>
SEEN
echo "as seen"
