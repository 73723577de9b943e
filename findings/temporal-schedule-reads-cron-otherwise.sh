#!/usr/bin/env bash
# Temporal: the same cron line means other days in a Schedule than in a workflow's CronSchedule, on the same server.
#
# Versions: Temporal server 1.29.1 (dev server of the CLI 1.5.1), Go SDK 1.50.0. Building the CLI takes 4 minutes on 2 cores.
# Guess:    Schedules replace CronSchedule, and take "traditional" cron lines, so that a line can be moved as it is.
# Seen:     with both day fields, CronSchedule runs if either matches, as cron does, and a Schedule only if both match: "0 9 31 * 1-5"
#           goes from each weekday to those few 31sts that are one. 7 as Sunday is an error in CronSchedule only, and "?" in a
#           Schedule only.
# Hurts:    developers who move cron workflows to Schedules, as the documentation recommends: no error, and for weeks no run. Make two
#           lines of one with two day fields; a Schedule takes several.
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
	for i, line := range []string{"0 9 31 * 1-5", "0 9 * * 7", "0 9 ? * 1"} {
		id := fmt.Sprint("report-", i)
		run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: "queue", CronSchedule: line}, "Report")
		if err != nil {
			fmt.Printf("%s, CronSchedule: %T\n", line, err)
		} else {
			first, err := c.GetWorkflowHistory(ctx, id, run.GetRunID(), false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT).Next()
			check(err)
			wait := first.GetWorkflowExecutionStartedEventAttributes().GetFirstWorkflowTaskBackoff().AsDuration()
			fmt.Printf("%s, CronSchedule: starts within a week %v\n", line, wait > 0 && wait <= 7*24*time.Hour)
		}
		schedule, err := c.ScheduleClient().Create(ctx, client.ScheduleOptions{
			ID:     id,
			Spec:   client.ScheduleSpec{CronExpressions: []string{line}},
			Action: &client.ScheduleWorkflowAction{Workflow: "Report", TaskQueue: "queue"},
		})
		if err != nil {
			fmt.Printf("%s, Schedule: %T\n", line, err)
			continue
		}
		description, err := schedule.Describe(ctx)
		check(err)
		days := map[time.Weekday]bool{}
		all31 := true
		for _, t := range description.Info.NextActionTimes {
			days[t.Weekday()] = true
			all31 = all31 && t.Day() == 31
		}
		fmt.Printf("%s, Schedule: days of the week %d, only on a 31st %v\n", line, len(days), all31)
	}
}
GO
(cd client && go mod tidy 2>/dev/null && go build -o ../run .)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
./temporal server start-dev --ip 127.0.0.1 --port "$port" --headless --log-level never >/dev/null 2>&1 & server=$!
./run "127.0.0.1:$port" | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
0 9 31 * 1-5, CronSchedule: starts within a week true
0 9 31 * 1-5, Schedule: days of the week 5, only on a 31st true
0 9 * * 7, CronSchedule: *serviceerror.InvalidArgument
0 9 * * 7, Schedule: days of the week 1, only on a 31st false
0 9 ? * 1, CronSchedule: starts within a week true
0 9 ? * 1, Schedule: *serviceerror.InvalidArgument
SEEN
echo "as seen"
