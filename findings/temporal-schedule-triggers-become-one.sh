#!/usr/bin/env bash
# Temporal: triggers of a schedule that come within one second start one run, although overlapping runs are allowed.
#
# Versions: Temporal server 1.29.1 (dev server of the CLI 1.5.1), Go SDK 1.50.0. Building the CLI takes 4 minutes on 2 cores.
# Guess:    each trigger that is accepted starts a run if the trigger's overlap policy is AllowAll. That is what the policy is for.
# Seen:     a run's workflow ID ends with the time in seconds. A trigger in the second of another one has the same ID, finds that it is
#           running, and starts nothing. Its caller gets no error, and the schedule counts neither an action nor a skipped or missed one.
# Hurts:    developers who trigger a schedule by an event, such as a webhook: of a burst all but one are lost without a trace. Start the
#           workflow itself with an ID of the event, or set the request's own scheduled time, which the SDK has no option for.
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
	"fmt"
	"os"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
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

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c := connect(ctx)
	open := func(id string) client.ScheduleHandle {
		schedule, err := c.ScheduleClient().Create(ctx, client.ScheduleOptions{
			ID:     id,
			Action: &client.ScheduleWorkflowAction{ID: id, Workflow: "Report", TaskQueue: "queue"},
		})
		check(err)
		return schedule
	}
	trigger := func(s client.ScheduleHandle) {
		check(s.Trigger(ctx, client.ScheduleTriggerOptions{Overlap: enums.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL}))
	}
	// await returns what the schedule has counted, once it has started so many runs.
	await := func(s client.ScheduleHandle, runs int) client.ScheduleInfo {
		for {
			description, err := s.Describe(ctx)
			check(err)
			if description.Info.NumActions >= runs {
				return description.Info
			}
			time.Sleep(500 * time.Millisecond)
		}
	}
	slow := open("slow")
	for i := range 3 {
		trigger(slow)
		await(slow, i+1)
		time.Sleep(1500 * time.Millisecond)
	}
	fmt.Println("3 triggers, each after the run of the one before: runs", await(slow, 3).NumActions)
	fast := open("fast")
	for range 100 {
		trigger(fast)
	}
	await(fast, 1)
	time.Sleep(10 * time.Second)
	info := await(fast, 1)
	fmt.Printf("100 triggers at once: all have started a run %v, skipped for overlap %d, missed %d\n",
		info.NumActions == 100, info.NumActionsSkippedOverlap, info.NumActionsMissedCatchupWindow)
}
GO
(cd client && go mod tidy 2>/dev/null && go build -o ../run .)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
./temporal server start-dev --ip 127.0.0.1 --port "$port" --headless --log-level never >/dev/null 2>&1 & server=$!
./run "127.0.0.1:$port" | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
3 triggers, each after the run of the one before: runs 3
100 triggers at once: all have started a run false, skipped for overlap 0, missed 0
SEEN
echo "as seen"
