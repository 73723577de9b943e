package chaos

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// checkTemporal asserts that Temporal agrees: every acknowledged event has a run, and an event whose last run hasn't completed
// has a dead letter. The list of runs lags behind. A restore may have removed the runs of events that the database has.
func (w *world) checkTemporal() {
	w.t.Helper()
	c := w.client()
	eventually(w.t, time.Minute, "Temporal agrees with the database", func() error {
		runs, err := w.lastRuns(c)
		if err != nil {
			return err
		}
		buried, err := w.workflowsOf("SELECT DISTINCT workflow_id FROM dead_letters")
		if err != nil {
			return err
		}
		for id := range w.load.acked {
			status, known := runs[id]
			switch {
			case !known && w.rewound.ofDatabase[id]:
			case !known:
				return fmt.Errorf("%s was acknowledged and has no run", id)
			case status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
				return fmt.Errorf("%s is running", id)
			case status != enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED && !buried[id]:
				return fmt.Errorf("the last run of %s is %s, and there is no dead letter", id, status)
			}
		}
		return nil
	})
}

// awaitSearchAttributes waits until Temporal knows the search attributes of the namespace, which it caches for some seconds. Until
// then it refuses starts: a fault of the database would be a loss of both stores.
func (w *world) awaitSearchAttributes() {
	w.t.Helper()
	c := w.client()
	eventually(w.t, time.Minute, "Temporal knows the search attributes", func() error {
		_, err := c.CountWorkflow(w.t.Context(), &workflowservice.CountWorkflowExecutionsRequest{
			Namespace: w.namespace, Query: "Provider = 'stripe'",
		})
		return err
	})
}

// lastRuns returns the status of the last run of each event.
func (w *world) lastRuns(c client.Client) (map[string]enumspb.WorkflowExecutionStatus, error) {
	last, began := map[string]enumspb.WorkflowExecutionStatus{}, map[string]time.Time{}
	var page []byte
	for {
		list, err := c.ListWorkflow(w.t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: w.namespace, PageSize: 500, NextPageToken: page, Query: "WorkflowType = 'ProcessEvent'",
		})
		if err != nil {
			return nil, err
		}
		for _, run := range list.GetExecutions() {
			id, start := run.GetExecution().GetWorkflowId(), run.GetStartTime().AsTime()
			if start.After(began[id]) {
				last[id], began[id] = run.GetStatus(), start
			}
		}
		if page = list.GetNextPageToken(); len(page) == 0 {
			return last, nil
		}
	}
}

// workflowsOf returns the IDs that match a query.
func (w *world) workflowsOf(query string) (map[string]bool, error) {
	c, err := pgx.Connect(w.t.Context(), w.sql.url(w.name))
	if err != nil {
		return nil, err
	}
	defer c.Close(w.t.Context())
	rows, err := c.Query(w.t.Context(), query)
	if err != nil {
		return nil, err
	}
	ids, set := "", map[string]bool{}
	_, err = pgx.ForEachRow(rows, []any{&ids}, func() error { set[ids] = true; return nil })
	return set, err
}
