#!/usr/bin/env bash
# NATS key-value buckets: a key with a TTL can live much longer, or for ever, and its expiry can pass without a notification.
#
# Versions: nats-server 2.15.3 (embedded, one node), nats.go 1.55.0.
# Guess:    the package's comments: KeyTTL is the time after which the key is deleted, and can't be changed later; Update "resets the
#           TTL", so that it runs anew; LimitMarkerTTL is how long markers are kept, and makes watchers hear of each expiry.
# Seen:     if the bucket keeps more than one value of a key, a TTL below LimitMarkerTTL is raised to it: with markers kept for an hour, a
#           lock of 10 s holds for an hour. After Update a key has no TTL at all, and Update takes none. A key that was deleted
#           and created again expires silently in such a bucket. Nothing of this with a history of 1, but for Update.
# Hurts:    locks and leases made with Create and KeyTTL: a holder that renews with Update, and dies, holds the lock for ever; those who
#           wait for it with a watcher wait for ever, once it was freed before. Use a history of 1, and don't renew with Update.
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
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
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

const ttl, markers = 2 * time.Second, 5 * time.Second

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
	for _, history := range []uint8{1, 2} {
		kv, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: fmt.Sprint("locks", history), History: history, LimitMarkerTTL: markers,
		})
		check(err)
		fmt.Println("history", history)
		locks(ctx, kv)
	}
}

func locks(ctx context.Context, kv jetstream.KeyValue) {
	lock := func(key string) uint64 {
		revision, err := kv.Create(ctx, key, nil, jetstream.KeyTTL(ttl))
		check(err)
		return revision
	}
	lock("once")
	_, err := kv.Update(ctx, "renewed", nil, lock("renewed"))
	check(err)
	lock("twice")
	check(kv.Delete(ctx, "twice"))
	lock("twice")
	began := time.Now()
	watcher, err := kv.WatchAll(ctx)
	check(err)
	show := func(when string) {
		for _, key := range []string{"once", "renewed", "twice"} {
			_, err := kv.Get(ctx, key)
			fmt.Printf("\t%s, %s: locked %v\n", when, key, !errors.Is(err, jetstream.ErrKeyNotFound))
		}
	}
	time.Sleep(time.Until(began.Add((ttl + markers) / 2)))
	show("after the TTL")
	time.Sleep(time.Until(began.Add(2 * markers)))
	show("after LimitMarkerTTL")
	check(watcher.Stop())
	told := map[string]bool{}
	for entry := range watcher.Updates() {
		if entry != nil && entry.Operation() != jetstream.KeyValuePut {
			told[entry.Key()] = true
		}
	}
	fmt.Println("\twatchers were told of the expiry of", slices.Sorted(maps.Keys(told)))
}
GO
go mod tidy 2>/dev/null
go run . "$dir/store" 2>/dev/null | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
history 1
	after the TTL, once: locked false
	after the TTL, renewed: locked true
	after the TTL, twice: locked false
	after LimitMarkerTTL, once: locked false
	after LimitMarkerTTL, renewed: locked true
	after LimitMarkerTTL, twice: locked false
	watchers were told of the expiry of [once twice]
history 2
	after the TTL, once: locked true
	after the TTL, renewed: locked true
	after the TTL, twice: locked true
	after LimitMarkerTTL, once: locked false
	after LimitMarkerTTL, renewed: locked true
	after LimitMarkerTTL, twice: locked false
	watchers were told of the expiry of [once]
SEEN
echo "as seen"
