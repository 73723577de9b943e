package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	sdk "go.temporal.io/sdk/client"

	"holdfast/event/oversight"
	"holdfast/workflows"
)

// Two processes with a channel each, and a daily report:
//   - there is one schedule, due at 07:00 UTC, and one message when it is due
//   - it counts received and failed events, and has nothing of their content; `holdfast report` prints the same now
//   - its run replays
func TestAReportIsSentOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "homemade.yaml"), []byte(definitionOf("json")), 0o644))
	s := newSink(t)
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir, "HOLDFAST_NOTIFY_URLS="+s.url, "HOLDFAST_NOTIFY_REPORT=daily",
		"HOLDFAST_NOTIFY_INTERVAL=1h")
	n := i.start(t, "serve")
	i.start(t, "worker")
	n.send(t, customerUpdated(uniqueID("evt"), uniqueID("cus"), "Ada", time.Now()))
	n.sendStandard(t, "/webhooks/homemade", uniqueID("msg"), []byte(poison))
	i.awaitCount(t, time.Minute, 1, openDeadLetters)
	i.awaitCount(t, time.Minute, 1, processedEvents)

	next := i.schedule(t, workflows.ScheduleReport).Info.NextActionTimes
	require.Equal(t, 7, next[0].UTC().Hour())
	require.Equal(t, 24*time.Hour, next[1].Sub(next[0]))
	schedule := i.dial(t).ScheduleClient().GetHandle(context.Background(), workflows.ScheduleReport)
	eventually(t, time.Minute, "the schedule", func() error { // the process makes it after its start
		return schedule.Trigger(context.Background(), sdk.ScheduleTriggerOptions{})
	})
	eventually(t, time.Minute, "the report is told", func() error { return atLeast(len(s.told()), 1) })
	run := i.latestOf(t, workflows.TypeReportHealth, "Completed")
	i.replay(t, "report_health", run)
	require.Len(t, s.told(), 1)
	require.Contains(t, s.told()[0], "holdfast "+i.namespace+": ")
	require.Contains(t, s.told()[0], "Received: 2 events (0 before): homemade 1 (0 before), stripe 1 (0 before)")
	require.Contains(t, s.told()[0], "Failed: 1 dead letter (0 before): homemade rejected malformed_json 1")
	require.Contains(t, s.told()[0], "Backlog: 1 dead letter")
	require.NotContains(t, s.told()[0], "Ada")

	out, err := i.run(t, "report")
	require.NoError(t, err, out)
	require.Contains(t, out, "Received: 2 events (0 before): homemade 1 (0 before), stripe 1 (0 before)\n")
	out, err = i.run(t, "report", "--window", "168h", "--json")
	require.NoError(t, err, out)
	var report oversight.Report
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	require.Equal(t, []oversight.Trend{{Name: "homemade", Count: 1}, {Name: "stripe", Count: 1}}, report.Received)
	i.awaitStatus(t, run, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
}
