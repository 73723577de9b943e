package chaos

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
)

var temporalFaults = []scenario{
	{id: "F17", name: "temporal_killed", twice: true, fault: func(w *world) {
		w.temporal.kill()
		w.sleep(outage)
		w.temporal.start(w.t)
	}},
	{id: "F17", name: "temporal_away_for_a_minute", accepts: true, fault: measureInbox},
	{id: "F18", name: "temporal_frozen", accepts: true, fault: func(w *world) {
		w.temporal.freeze()
		w.sleep(outage)
		w.temporal.thaw()
	}},
	{id: "F18", name: "started_but_reply_lost", short: true, fault: func(w *world) {
		for range 3 {
			w.ingressTemporal.blackHole(w.t, down)
			w.sleep(w.some(2*time.Second, 3*time.Second))
			w.ingressTemporal.heal(w.t)
			w.sleep(w.some(500*time.Millisecond, 1500*time.Millisecond))
		}
	}},
	{id: "F18", name: "temporal_connections_reset", fault: func(w *world) {
		for range 6 {
			for _, l := range []*link{w.ingressTemporal, w.workerTemporal} {
				l.disturb(w.t, "reset_peer", down, fmt.Sprintf(`{"timeout":%d}`, w.rng.IntN(400)))
			}
			w.sleep(w.some(200*time.Millisecond, time.Second))
			w.ingressTemporal.heal(w.t)
			w.workerTemporal.heal(w.t)
			w.sleep(w.some(300*time.Millisecond, time.Second))
		}
	}},
	{id: "F20", name: "temporal_limits_the_rate", fault: func(w *world) {
		// The server reloads the file every 10 s.
		const normal = "frontend.namespaceRPS:\n  - value: 10000"
		require.Contains(w.t, w.overrides, normal)
		before := w.overrides
		w.overrides = strings.Replace(w.overrides, normal, "frontend.namespaceRPS:\n  - value: 5", 1)
		require.NoError(w.t, w.configure(""))
		w.sleep(10*time.Second + outage)
		w.overrides = before
		require.NoError(w.t, w.configure(""))
		w.sleep(10 * time.Second)
	}},
	{id: "F21", name: "temporal_loses_its_database", fault: func(w *world) {
		w.memory.abort()
		w.sleep(outage)
		w.memory.start(w.t)
		w.temporal.awaitReady(w.t)
	}},
	{id: "F22", name: "temporal_restarts_during_activities", fault: func(w *world) {
		release := w.lock("entities", "EXCLUSIVE")
		w.sleep(4 * time.Second)
		w.temporal.crash()
		w.sleep(2 * time.Second)
		release()
		w.sleep(2 * time.Second)
		w.temporal.crash()
		w.sleep(2 * time.Second)
		w.temporal.awaitReady(w.t)
	}},
	{id: "F25, F43", name: "runs_terminated_swept_and_replayed", buries: true, fault: terminateAndReplay},
	{id: "F26", name: "processed_runs_reset", fault: resetProcessed},
	{id: "F27", name: "workflow_cache_lost", environ: []string{"HOLDFAST_WORKER_STICKY_CACHE=1"}, fault: func(w *world) {
		release := w.lock("entities", "EXCLUSIVE")
		w.sleep(outage)
		release()
	}},
}

// measureInbox logs how much space each event needs in the database while Temporal is away.
func measureInbox(w *world) {
	quantities := map[string]string{
		"rows": "SELECT count(*) FROM inbox", "table": "SELECT pg_table_size('inbox')", "indexes": "SELECT pg_indexes_size('inbox')",
		"bodies": "SELECT coalesce(sum(length(raw_body)), 0) FROM inbox",
		"WAL":    "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint",
	}
	measure := func() map[string]int {
		measured := map[string]int{}
		for name, query := range quantities {
			n, err := w.count(query)
			require.NoError(w.t, err)
			measured[name] = n
		}
		return measured
	}
	w.temporal.kill()
	w.sleep(outage) // steps in progress end
	before := measure()
	w.sleep(10 * outage)
	after := measure()
	w.temporal.start(w.t)
	events := after["rows"] - before["rows"]
	require.Positive(w.t, events)
	for name := range quantities {
		w.t.Logf("inbox, %d events: %s +%d, %d per event", events, name, after[name]-before[name], (after[name]-before[name])/events)
	}
}

// terminateAndReplay ends runs as an operator might by mistake, waits for the sweep to record their dead letters, and replays
// them all twice at the same time, killing all workers in the middle.
func terminateAndReplay(w *world) {
	c := w.client()
	release := w.lock("entities", "EXCLUSIVE")
	w.sleep(outage / 2)
	list, err := c.ListWorkflow(w.t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: w.namespace, PageSize: 30, Query: "ExecutionStatus = 'Running' AND WorkflowType = 'ProcessEvent'",
	})
	require.NoError(w.t, err)
	var ended []string
	for _, run := range list.GetExecutions() {
		id := run.GetExecution().GetWorkflowId()
		if c.TerminateWorkflow(w.t.Context(), id, run.GetExecution().GetRunId(), "by mistake") == nil {
			ended = append(ended, id)
		}
	}
	require.NotEmpty(w.t, ended, "no run was open")
	w.sleep(6 * time.Second) // waiting steps time out on the lock
	release()
	eventually(w.t, 4*time.Minute, "the sweep has found them", func() error {
		// Events whose last step has committed anyway are no dead letters, and poison may have been one before its run was ended.
		found, err := w.workflowsOf(`SELECT workflow_id FROM dead_letters UNION
			SELECT workflow_id FROM events WHERE status = 'processed'`)
		if err != nil {
			return err
		}
		ended = slices.DeleteFunc(ended, func(id string) bool { return found[id] })
		if len(ended) > 0 {
			return fmt.Errorf("%d are missing, such as %s", len(ended), ended[0])
		}
		return nil
	})
	for range 2 {
		out, err := w.run("dlq", "replay", "--all", "--yes", "--detach", "--rate", "20/s")
		require.NoError(w.t, err, out)
	}
	w.sleep(w.some(500*time.Millisecond, 2*time.Second))
	for _, n := range w.workers {
		n.kill()
	}
	for _, n := range w.workers {
		n.start(w.t)
	}
	eventually(w.t, 3*time.Minute, "all that was terminated is processed", func() error {
		n, err := w.count("SELECT count(*) FROM dead_letters WHERE step = 'run' AND state <> 'resolved'")
		if err == nil && n != 0 {
			err = fmt.Errorf("%d dead letters are left", n)
		}
		return err
	})
}

// resetProcessed runs processed events again from the beginning.
func resetProcessed(w *world) {
	c := w.client()
	w.awaitCount(time.Minute, 40, "SELECT count(*) FROM events WHERE status = 'processed'")
	list, err := c.ListWorkflow(w.t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: w.namespace, PageSize: 40, Query: "ExecutionStatus = 'Completed' AND WorkflowType = 'ProcessEvent'",
	})
	require.NoError(w.t, err)
	for _, info := range list.GetExecutions() {
		run := info.GetExecution()
		_, err := c.ResetWorkflowExecution(w.t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
			Namespace: w.namespace, Reason: "chaos", RequestId: run.GetRunId() + "-reset",
			WorkflowExecution:         run,
			WorkflowTaskFinishEventId: w.firstWorkflowTask(c, run),
			ResetReapplyType:          enumspb.RESET_REAPPLY_TYPE_NONE, //nolint:staticcheck // what the command line sends
		})
		require.NoError(w.t, err)
	}
	require.NotEmpty(w.t, list.GetExecutions())
	w.sleep(3 * time.Second)
}

// firstWorkflowTask returns the event that `temporal` and `tctl` reset to as FirstWorkflowTask: the end of the first task.
// Temporal splits a history only between batches. The three events before this one are one batch if the run was started
// eagerly, and two if a worker polled for its task.
func (w *world) firstWorkflowTask(c sdk.Client, run *common.WorkflowExecution) int64 {
	history := c.GetWorkflowHistory(w.t.Context(), run.GetWorkflowId(), run.GetRunId(), false,
		enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		e, err := history.Next()
		require.NoError(w.t, err)
		if e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			return e.GetEventId()
		}
	}
	require.Fail(w.t, "no task of the run was completed", run.GetWorkflowId())
	return 0
}
