package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"holdfast/workflows/runs"
)

func listRequest(query string) *workflowservice.ListWorkflowExecutionsRequest {
	return &workflowservice.ListWorkflowExecutionsRequest{Query: query}
}

// Runs are terminated while they wait for a table:
//   - the sweep records the dead letter of each, with the raw bytes and who terminated it, and a replay resolves it
//   - one that was reset after that is left to its later run, without a dead letter
func TestATerminatedRunAppearsAfterTheSweep(t *testing.T) {
	t.Parallel()
	i := newInstallation(t, "HOLDFAST_REPLAY_SWEEP_INTERVAL=1s")
	n := i.start(t, "serve")
	lost, reset := uniqueID("evt"), uniqueID("evt")
	body := customerUpdated(lost, uniqueID("cus"), "Ada", time.Now())
	i.runTool(t, "temporal", "schedule", "toggle", "--schedule-id", "holdfast-sweep-runs", "--pause")

	release := i.lock(t, "entities")
	accepted(t, func() answer { return n.send(t, body) })
	accepted(t, func() answer { return n.send(t, customerUpdated(reset, uniqueID("cus"), "Ada", time.Now())) })
	for _, id := range []string{lost, reset} {
		eventually(t, 30*time.Second, "it is stuck on the durable lane", func() error { return i.usesDurableLane(t, "stripe:"+id) })
	}
	eventually(t, 30*time.Second, "both are found among the open runs", func() error {
		runs, total, err := runs.NewReader(i.dial(t), converter.GetDefaultDataConverter()).OpenRuns(context.Background(), time.Now().Add(time.Minute), 10)
		if err != nil || total < 2 {
			return fmt.Errorf("%d: %w", total, err)
		}
		require.Len(t, runs, 2)
		require.NotEmpty(t, runs[0].EventID)
		return nil
	})
	for _, id := range []string{lost, reset} {
		i.runTool(t, "temporal", "workflow", "terminate", "--workflow-id", "stripe:"+id, "--reason", "by mistake")
	}
	// A step that had begun would succeed, and there would be nothing to rescue.
	i.awaitCount(t, time.Minute, 0, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
	release()
	i.runTool(t, "temporal", "workflow", "reset", "--workflow-id", "stripe:"+reset, "--type", "FirstWorkflowTask", "--reason", "undo")
	i.runTool(t, "temporal", "schedule", "toggle", "--schedule-id", "holdfast-sweep-runs", "--unpause")

	i.awaitCount(t, time.Minute, 1, openDeadLetters)
	var id int
	var raw []byte
	var step, code, message, run string
	i.query(t, "SELECT id, raw_body, step, error_code, error_message, run_id FROM dead_letters", nil, &id, &raw, &step, &code, &message, &run)
	require.Equal(t, string(body), string(raw))
	require.Equal(t, []string{"run", "terminated"}, []string{step, code})
	require.Contains(t, message, "by mistake")
	require.Equal(t, i.describe(t, "stripe:"+lost).GetExecution().GetRunId(), run)
	require.Contains(t, n.metrics(t), `holdfast_sweep_dead_letters_total{status="terminated"} 1`)
	i.awaitStatus(t, "stripe:"+reset, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)

	out, err := i.run(t, "dlq", "replay", fmt.Sprint(id), "--wait")
	require.NoError(t, err, out)
	i.awaitStatus(t, "stripe:"+lost, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	i.awaitCount(t, 30*time.Second, 2, processedEvents)
	require.Zero(t, i.count(t, openDeadLetters))
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM dead_letters"), "further sweeps have found the same runs and nothing to do")
}

// The workers can't write dead letters while poison comes in:
//   - every event is acknowledged, its run stays open, and nothing is lost
//   - once they can, each event has its dead letter, with its bytes, and its run has failed
func TestPoisonOutlastsDeadLettersThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	role, url := i.applicationRole(t)
	n := i.start(t, "serve", "DATABASE_URL="+url)
	i.exec(t, "REVOKE INSERT ON dead_letters FROM "+role)
	const events = 30
	for range events {
		id := uniqueID("msg")
		accepted(t, func() answer { return n.sendStandard(t, "/webhooks/standard-webhooks", id, []byte(poison)) })
	}
	eventually(t, time.Minute, "the first attempts have failed", func() error {
		return atLeast(strings.Count(n.metrics(t), `step="RecordDeadLetter"`), 1)
	})
	require.Zero(t, i.count(t, "SELECT count(*) FROM dead_letters"))
	eventually(t, 30*time.Second, "every run is open", func() error {
		return atLeast(i.runsOf(t, "WorkflowType = 'ProcessEvent' AND ExecutionStatus = 'Running'"), events)
	})

	i.exec(t, "GRANT INSERT ON dead_letters TO "+role)
	i.awaitCount(t, 3*time.Minute, events, openDeadLetters)
	require.Equal(t, events, i.count(t, "SELECT count(*) FROM dead_letters WHERE raw_body = $1 AND failures = 1", []byte(poison)))
	eventually(t, time.Minute, "every run has failed", func() error {
		return atLeast(i.runsOf(t, "WorkflowType = 'ProcessEvent' AND ExecutionStatus = 'Failed'"), events)
	})
}

// applicationRole creates a role that may read and write, and owns nothing.
func (i *installation) applicationRole(t *testing.T) (role, url string) {
	t.Helper()
	config, err := pgx.ParseConfig(i.database)
	require.NoError(t, err)
	role = fmt.Sprintf("app_%d", sequence.Add(1))
	i.exec(t, "CREATE ROLE "+role+" LOGIN PASSWORD 'app'")
	i.exec(t, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO "+role)
	t.Cleanup(func() { i.exec(t, "DROP OWNED BY "+role+"; DROP ROLE "+role) })
	return role, fmt.Sprintf("host=%s port=%d user=%s password=app dbname=%s", config.Host, config.Port, role, config.Database)
}

// exec runs a statement as the owner of the database.
func (i *installation) exec(t *testing.T, sql string) {
	t.Helper()
	ctx := context.Background()
	connection, err := pgx.Connect(ctx, i.database)
	require.NoError(t, err)
	defer connection.Close(ctx)
	_, err = connection.Exec(ctx, sql)
	require.NoError(t, err)
}
