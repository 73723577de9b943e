package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
)

const (
	inBatches  = "SELECT count(*) FROM events WHERE workflow_id LIKE 'batch/%' AND status = 'processed'"
	bulkInbox  = "SELECT count(*) FROM inbox"
	allEvents  = "SELECT count(*) FROM events"
	allEntries = "SELECT count(*) FROM idempotency_keys"
)

// newBulkInstallation processes Stripe's events in the bulk lane.
func newBulkInstallation(t *testing.T, env ...string) *installation {
	t.Helper()
	dir := t.TempDir()
	definition := "name: stripe\nextends: stripe\nlane: bulk\nrate: null\nclient_rate: null\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "stripe.yaml"), []byte(definition), 0o644))
	return newInstallation(t, append(env, "HOLDFAST_PROVIDERS_DIR="+dir)...)
}

// batchOf returns the workflow and the run in which an event was processed.
func (i *installation) batchOf(t *testing.T, eventID string) (workflowID, runID string) {
	t.Helper()
	i.query(t, "SELECT workflow_id, run_id FROM events WHERE id = $1", []any{eventID}, &workflowID, &runID)
	return workflowID, runID
}

// A fire-hose uses the bulk lane:
//   - each event is acknowledged by the inbox and processed in a batch, whose history names it
//   - an event sent twice is stored once, whether the first delivery is still waiting or processed
//   - an operator finds an event by its key, and sees its batch
//   - a reset batch processes nothing twice
func TestBulkLane(t *testing.T) {
	t.Parallel()
	i := newBulkInstallation(t)
	n := i.start(t, "serve")
	const events, customers = 60, 7
	ids := make([]string, events)
	var senders sync.WaitGroup
	for k := range events {
		ids[k] = uniqueID("evt")
		at := time.Now().Add(time.Duration(-k) * time.Second)
		body := customerUpdated(ids[k], fmt.Sprint("cus_bulk_", k%customers), fmt.Sprint("Ada ", k), at)
		for range 1 + k%2 {
			senders.Go(func() {
				a, err := n.post("/webhooks/stripe", body, "Stripe-Signature", sign(body, secret, time.Now()))
				if err != nil || a.status != http.StatusAccepted && a.status != http.StatusOK {
					t.Errorf("send: %v %d %s", err, a.status, a.body)
				}
			})
		}
	}
	senders.Wait()
	i.awaitCount(t, time.Minute, events, inBatches)
	i.awaitCount(t, time.Minute, 0, bulkInbox)
	require.Equal(t, events, i.count(t, allEvents))
	require.Equal(t, customers, i.count(t, "SELECT count(*) FROM entities"))
	require.Equal(t, customers, i.count(t, "SELECT count(*) FROM entities WHERE state->>'name' ~ '^Ada [0-6]$'"),
		"the state is that of the latest event, whatever came last")

	var first string
	i.query(t, "SELECT id::text FROM events WHERE key = $1", []any{ids[0]}, &first)
	workflowID, runID := i.batchOf(t, first)
	i.awaitStatus(t, workflowID, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	require.Contains(t, fmt.Sprint(i.history(t, workflowID)), "processed stripe:"+ids[0]+" "+first+" customer.updated")
	out, err := i.run(t, "event", "show", "stripe:"+ids[0])
	require.NoError(t, err, out)
	require.Contains(t, out, workflowID)
	require.Contains(t, out, runID)
	out, err = i.run(t, "event", "list", "--key", ids[0])
	require.NoError(t, err, out)
	require.Contains(t, out, first)
	i.replay(t, "batch_fast_lane", workflowID)

	var sent []byte
	i.query(t, "SELECT raw_body FROM events WHERE key = $1", []any{ids[0]}, &sent)
	again := n.send(t, sent)
	require.Equal(t, "spooled", again.state(), "the ingress does not look into the tables")
	i.awaitCount(t, time.Minute, 0, bulkInbox)
	require.Equal(t, events, i.count(t, allEvents))

	i.runTool(t, "temporal", "workflow", "reset", "--workflow-id", workflowID, "--run-id", runID, "--type", "FirstWorkflowTask",
		"--reason", "test")
	eventually(t, time.Minute, "there is a second run", func() error {
		if run := i.describe(t, workflowID).GetExecution().GetRunId(); run == runID {
			return fmt.Errorf("it is %s", run)
		}
		return nil
	})
	i.awaitStatus(t, workflowID, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	require.Equal(t, []int{events, events, customers}, []int{
		i.count(t, inBatches), i.count(t, allEntries), i.count(t, "SELECT count(*) FROM entities"),
	})
	require.Contains(t, n.metrics(t), `holdfast_batch_events_total{outcome="processed"}`)
	require.Contains(t, n.metrics(t), `holdfast_batch_events_total{outcome="duplicate"}`)
	require.Contains(t, n.log.String(), "batch.processed")
}

// Poison in a batch gets its own workflow, and becomes a dead letter; the others are processed. Its redelivery finds the dead
// event and runs it again.
func TestPoisonInABatch(t *testing.T) {
	t.Parallel()
	i := newBulkInstallation(t)
	n := i.start(t, "serve")
	dead := n.send(t, []byte(poison))
	require.Equal(t, "spooled", dead.state())
	for range 20 {
		n.send(t, customerUpdated(uniqueID("evt"), uniqueID("cus"), "Ada", time.Now()))
	}
	i.awaitCount(t, time.Minute, 20, inBatches)
	workflowID := dead.Events[0].WorkflowID
	i.awaitCount(t, time.Minute, 1, openDeadLetters)
	i.awaitStatus(t, workflowID, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM dead_letters WHERE event_id = $1 AND workflow_id = $2",
		dead.Events[0].EventID, workflowID))

	n.send(t, []byte(poison))
	i.awaitCount(t, time.Minute, 1, "SELECT count(*) FROM dead_letters WHERE failures = 2")
	i.awaitCount(t, time.Minute, 0, bulkInbox)
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM dead_letters"))
	require.Equal(t, 20, i.count(t, allEvents))
}

// Workers are killed repeatedly while events come in:
//   - every acknowledged event is processed once: in a batch, or separately if a dead worker's transaction has locked it
func TestWorkersDieBetweenBatches(t *testing.T) {
	t.Parallel()
	i := newBulkInstallation(t)
	door := i.start(t, "ingress")
	load := startLoad(door, 4)
	for range 3 {
		processed := i.count(t, inBatches)
		w := i.start(t, "worker")
		i.awaitAtLeast(t, time.Minute, processed+100, inBatches)
		w.kill()
	}
	load.stop()
	require.Zero(t, load.other.Load())
	require.Empty(t, load.unanswered)
	accepted := int(load.accepted.Load())
	require.Greater(t, accepted, 300)

	i.start(t, "worker")
	i.awaitCount(t, 2*time.Minute, 0, bulkInbox)
	i.awaitCount(t, time.Minute, accepted, processedEvents)
	require.Greater(t, i.count(t, inBatches), accepted/2)
	require.Equal(t, accepted, i.count(t, allEvents))
	require.Equal(t, accepted, i.count(t, allEntries))
	require.Zero(t, i.count(t, "SELECT count(*) FROM dead_letters"))
}

// A slow store sends a batch to the durable lane, where it waits together with its events.
func TestABatchWaitsForItsStore(t *testing.T) {
	t.Parallel()
	i := newBulkInstallation(t)
	n := i.start(t, "serve")
	release := i.lock(t, "idempotency_keys")
	a := n.send(t, customerUpdated(uniqueID("evt"), uniqueID("cus"), "Ada", time.Now()))
	require.Equal(t, "spooled", a.state())
	var workflowID string
	eventually(t, time.Minute, "a batch is on the durable lane", func() error {
		page, err := i.dial(t).ListWorkflow(t.Context(), listRunning("ProcessBatch"))
		if err != nil {
			return err
		}
		for _, run := range page.GetExecutions() {
			if workflowID = run.GetExecution().GetWorkflowId(); i.usesDurableLane(t, workflowID) == nil {
				return nil
			}
		}
		return fmt.Errorf("of %d running batches none is", len(page.GetExecutions()))
	})
	require.Zero(t, i.count(t, allEvents))
	release()
	i.awaitCount(t, time.Minute, 1, inBatches)
	i.awaitStatus(t, workflowID, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	i.replay(t, "batch_durable_lane", workflowID)
	require.Zero(t, i.count(t, bulkInbox))
}

// Without its database an ingress still accepts events of the bulk lane: each becomes a workflow.
func TestBulkWithoutTheInbox(t *testing.T) {
	t.Parallel()
	i := newBulkInstallation(t)
	door := i.start(t, "ingress", "DATABASE_URL=postgres://127.0.0.1:1/nowhere?sslmode=disable")
	id := uniqueID("evt")
	a := door.send(t, customerUpdated(id, uniqueID("cus"), "Ada", time.Now()))
	require.Equal(t, []any{http.StatusAccepted, "accepted"}, []any{a.status, a.state()})
	i.start(t, "worker")
	i.awaitStatus(t, "stripe:"+id, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	i.awaitCount(t, time.Minute, 1, processedEvents)
	require.Zero(t, i.count(t, inBatches))
	require.Equal(t, 1, strings.Count(a.Events[0].WorkflowID, id))
}

func listRunning(workflowType string) *workflowservice.ListWorkflowExecutionsRequest {
	return &workflowservice.ListWorkflowExecutionsRequest{
		Query: fmt.Sprintf("WorkflowType = %q AND ExecutionStatus = 'Running'", workflowType),
	}
}
