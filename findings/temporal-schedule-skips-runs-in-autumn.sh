#!/usr/bin/env bash
# Temporal: a schedule in a time zone skips runs for an hour and more when the clocks go back.
#
# Versions: Temporal server 1.29.1 (dev server of the CLI 1.5.1), Go SDK 1.50.0. Building the CLI takes 4 minutes on 2 cores.
# Guess:    where the clocks go back, an hour of the local time comes twice. A schedule with a time of day in it may run once or twice
#           in it, but one of every 20 minutes runs every 20 minutes, as those in UTC do.
# Seen:     with "5/20 * * * *" in Berlin, 80 minutes pass between two runs, and then 80 again, so that half of the runs between 00:00 and
#           04:00 UTC are missing. With "0 * * * *" two hours pass once. In March and in UTC nothing is missing. These times aren't in
#           the server's list of the schedule's times, so a longer catch-up window can't bring them back. The package that computes
#           them gives the same ones in server 1.32.1.
# Hurts:    developers who poll, reconcile or remind by a schedule in a local time zone: nothing runs at that time, one night a year, and
#           what each run does for "the last 20 minutes" has holes. Use intervals or UTC for schedules that run more often than daily.
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

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"google.golang.org/protobuf/types/known/timestamppb"
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
	night := map[string]time.Time{
		"October": time.Date(2027, 10, 30, 23, 59, 59, 0, time.UTC),
		"March":   time.Date(2027, 3, 27, 23, 59, 59, 0, time.UTC),
	}
	for i, s := range []struct{ line, zone, month string }{
		{"5/20 * * * *", "UTC", "October"},
		{"5/20 * * * *", "Europe/Berlin", "March"},
		{"5/20 * * * *", "Europe/Berlin", "October"},
		{"*/30 * * * *", "Europe/Berlin", "October"},
		{"0 * * * *", "Europe/Berlin", "October"},
		{"30 2 * * *", "Europe/Berlin", "March"},
		{"30 2 * * *", "Europe/Berlin", "October"},
	} {
		id := fmt.Sprint("schedule-", i)
		_, err := c.ScheduleClient().Create(ctx, client.ScheduleOptions{
			ID:     id,
			Spec:   client.ScheduleSpec{CronExpressions: []string{s.line}, TimeZoneName: s.zone},
			Action: &client.ScheduleWorkflowAction{Workflow: "Poll", TaskQueue: "queue"},
		})
		check(err)
		from := night[s.month]
		times, err := c.WorkflowService().ListScheduleMatchingTimes(ctx, &workflowservice.ListScheduleMatchingTimesRequest{
			Namespace: "default", ScheduleId: id, StartTime: timestamppb.New(from), EndTime: timestamppb.New(from.Add(4 * time.Hour)),
		})
		check(err)
		fmt.Printf("%s in %s, a night in %s:", s.line, s.zone, s.month)
		for _, t := range times.GetStartTime() {
			fmt.Print(" ", t.AsTime().Format("15:04"))
		}
		fmt.Println()
	}
}
GO
(cd client && go mod tidy 2>/dev/null && go build -o ../run .)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
./temporal server start-dev --ip 127.0.0.1 --port "$port" --headless --log-level never >/dev/null 2>&1 & server=$!
./run "127.0.0.1:$port" | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
5/20 * * * * in UTC, a night in October: 00:05 00:25 00:45 01:05 01:25 01:45 02:05 02:25 02:45 03:05 03:25 03:45
5/20 * * * * in Europe/Berlin, a night in March: 00:05 00:25 00:45 01:05 01:25 01:45 02:05 02:25 02:45 03:05 03:25 03:45
5/20 * * * * in Europe/Berlin, a night in October: 00:05 01:25 02:45 03:05 03:25 03:45
*/30 * * * * in Europe/Berlin, a night in October: 00:00 01:30 02:00 02:30 03:00 03:30
0 * * * * in Europe/Berlin, a night in October: 00:00 02:00 03:00
30 2 * * * in Europe/Berlin, a night in March:
30 2 * * * in Europe/Berlin, a night in October: 01:30
SEEN
echo "as seen"
