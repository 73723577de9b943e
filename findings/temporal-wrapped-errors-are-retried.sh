#!/usr/bin/env bash
# Temporal's Go SDK: an activity that wraps a non-retryable error with %w is retried, but not if it runs as a local activity.
#
# Versions: Go SDK 1.50.0, Temporal server 1.29.1 (dev server of the CLI 1.5.1). Building the CLI takes 4 minutes on 2 cores.
# Guess:    errors are looked at with errors.As, as the SDK does for workflows that receive them: what an ApplicationError says (that it
#           isn't retryable, its type, the delay before the next try) holds when a caller has added context with fmt.Errorf and %w.
# Seen:     an activity's error is read by its outermost Go type: the wrapped error is of type "wrapError" and retryable. Neither
#           NonRetryable, nor a type in NonRetryableErrorTypes, nor NextRetryDelay works through %w, and neither does errors.Join.
#           Local activities do unwrap the first two: the same function is tried once there.
# Hurts:    activities that call layers of Go code which add context: a refused payment is tried until its attempts are used up, by
#           default for ever, and a Retry-After is ignored. Find the ApplicationError with errors.As, and return it outermost.
set -euo pipefail
dir=$(mktemp -d); server=""; trap '[ -z "$server" ] || kill "$server"; rm -rf "$dir"' EXIT; cd "$dir"
mkdir client
GOBIN=$dir go install -tags disable_grpc_modules github.com/temporalio/cli/cmd/temporal@v1.5.1 2>/dev/null
cat >client/go.mod <<'MOD'
module finding
go 1.26
require go.temporal.io/sdk v1.50.0
MOD
cat >client/main.go <<'GO'
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

type silent struct{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}

var _ log.Logger = silent{}

func check(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

func connect(ctx context.Context) client.Client {
	for {
		c, err := client.Dial(client.Options{HostPort: os.Args[1], Logger: silent{}})
		if err == nil {
			return c
		}
		if ctx.Err() != nil {
			check(err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

const delay = 5 * time.Second

var failures = map[string]error{
	"non-retryable": temporal.NewNonRetryableApplicationError("refused", "Refused", nil),
	"listed type":   temporal.NewApplicationError("refused", "Listed"),
	"delayed":       temporal.NewApplicationErrorWithOptions("busy", "Busy", temporal.ApplicationErrorOptions{NextRetryDelay: delay}),
}

var ways = map[string]func(error) error{
	"returned": func(err error) error { return err },
	"wrapped":  func(err error) error { return fmt.Errorf("charge the card: %w", err) },
	"joined":   func(err error) error { return errors.Join(err, errors.New("close the file")) },
}

// tries has when each try of a call began.
var (
	mu    sync.Mutex
	tries = map[string][]time.Time{}
)

func Charge(_ context.Context, call, failure, way string) error {
	mu.Lock()
	defer mu.Unlock()
	tries[call] = append(tries[call], time.Now())
	return ways[way](failures[failure])
}

func Pay(ctx workflow.Context, call, failure, way string, local bool) error {
	policy := &temporal.RetryPolicy{
		InitialInterval: 10 * time.Millisecond, BackoffCoefficient: 1, MaximumAttempts: 2, NonRetryableErrorTypes: []string{"Listed"},
	}
	if local {
		options := workflow.LocalActivityOptions{StartToCloseTimeout: time.Minute, RetryPolicy: policy}
		return workflow.ExecuteLocalActivity(workflow.WithLocalActivityOptions(ctx, options), Charge, call, failure, way).Get(ctx, nil)
	}
	options := workflow.ActivityOptions{StartToCloseTimeout: time.Minute, RetryPolicy: policy}
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), Charge, call, failure, way).Get(ctx, nil)
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c := connect(ctx)
	w := worker.New(c, "queue", worker.Options{})
	w.RegisterWorkflow(Pay)
	w.RegisterActivity(Charge)
	check(w.Start())
	defer w.Stop()
	for _, failure := range []string{"non-retryable", "listed type", "delayed"} {
		for _, way := range []string{"returned", "wrapped", "joined"} {
			fmt.Printf("%s, %s: activity %s; local activity %s\n", failure, way, pay(ctx, c, failure, way, false), pay(ctx, c, failure, way, true))
		}
	}
}

func pay(ctx context.Context, c client.Client, failure, way string, local bool) string {
	call := fmt.Sprint(failure, way, local)
	r, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: "queue"}, Pay, call, failure, way, local)
	check(err)
	if r.Get(ctx, nil) == nil {
		check(errors.New("the workflow should have failed"))
	}
	mu.Lock()
	defer mu.Unlock()
	t := tries[call]
	if failure != "delayed" {
		return fmt.Sprintf("tried %d times", len(t))
	}
	return fmt.Sprintf("tried %d times, waited %v", len(t), t[1].Sub(t[0]) >= delay)
}
GO
(cd client && go mod tidy 2>/dev/null && go build -o ../run .)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
./temporal server start-dev --ip 127.0.0.1 --port "$port" --headless --log-level never >/dev/null 2>&1 & server=$!
./run "127.0.0.1:$port" | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
non-retryable, returned: activity tried 1 times; local activity tried 1 times
non-retryable, wrapped: activity tried 2 times; local activity tried 1 times
non-retryable, joined: activity tried 2 times; local activity tried 1 times
listed type, returned: activity tried 1 times; local activity tried 1 times
listed type, wrapped: activity tried 2 times; local activity tried 1 times
listed type, joined: activity tried 2 times; local activity tried 1 times
delayed, returned: activity tried 2 times, waited true; local activity tried 2 times, waited true
delayed, wrapped: activity tried 2 times, waited false; local activity tried 2 times, waited false
delayed, joined: activity tried 2 times, waited false; local activity tried 2 times, waited false
SEEN
echo "as seen"
