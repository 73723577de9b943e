#!/usr/bin/env bash
# gobreaker: a circuit breaker with an Interval never opens if each call takes longer than the Interval to fail.
#
# Version:  sony/gobreaker 2.4.0 (Go 1.26), with a fixed and with a rolling window.
# Guess:    Interval is how long failures are remembered. A failure counts in the interval in which it ends.
# Seen:     the outcome of a call that began in an earlier interval is thrown away: 1,000 calls, 20 at a time, each failing after
#           30 s, count as no failure at all with an Interval of 10 s, also with a BucketPeriod of 1 s. The same calls open the breaker
#           after 25 if they fail within 1 s, or without an Interval. The documentation speaks of clearing counts only.
# Hurts:    time-outs, which is what breakers are for: an endpoint that answers with errors is cut off, one that hangs keeps all
#           callers busy. Leave Interval out, or make it several times the longest time-out.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT; cd "$dir"
cat >go.mod <<'MOD'
module finding
go 1.26
require github.com/sony/gobreaker/v2 v2.4.0
MOD
cat >finding_test.go <<'GO'
package finding

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sony/gobreaker/v2"
)

// Time is virtual here.
func TestBreaker(t *testing.T) {
	for _, s := range []gobreaker.Settings{{}, {Interval: 10 * time.Second}, {Interval: 10 * time.Second, BucketPeriod: time.Second}} {
		s.Timeout = 24 * time.Hour
		for _, takes := range []time.Duration{time.Second, 30 * time.Second} {
			synctest.Test(t, func(*testing.T) { call(s, takes) })
		}
	}
}

// call has 20 callers make 50 calls each, all of which fail.
func call(s gobreaker.Settings, takes time.Duration) {
	breaker := gobreaker.NewCircuitBreaker[int](s)
	var made atomic.Int64
	var callers sync.WaitGroup
	for range 20 {
		callers.Go(func() {
			for range 50 {
				_, _ = breaker.Execute(func() (int, error) {
					made.Add(1)
					time.Sleep(takes)
					return 0, errors.New("no answer")
				})
			}
		})
	}
	callers.Wait()
	fmt.Printf("interval %v, bucket %v, calls fail after %v: %d of 1000 calls made, breaker %v\n",
		s.Interval, s.BucketPeriod, takes, made.Load(), breaker.State())
}
GO
go mod tidy 2>/dev/null
go test -count=1 . -v 2>&1 | grep '^interval' | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
interval 0s, bucket 0s, calls fail after 1s: 25 of 1000 calls made, breaker open
interval 0s, bucket 0s, calls fail after 30s: 25 of 1000 calls made, breaker open
interval 10s, bucket 0s, calls fail after 1s: 25 of 1000 calls made, breaker open
interval 10s, bucket 0s, calls fail after 30s: 1000 of 1000 calls made, breaker closed
interval 10s, bucket 1s, calls fail after 1s: 25 of 1000 calls made, breaker open
interval 10s, bucket 1s, calls fail after 30s: 1000 of 1000 calls made, breaker closed
SEEN
echo "as seen"
