package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/converter"
)

// One event from end to end:
//   - the sender gets 202 with the workflow's ID
//   - the event is a row with the exact bytes, and its customer an entity with exact numbers
//   - Temporal has one run of that ID, Completed, with a readable payload, a summary and search attributes
//   - `holdfast event show` shows all of it, for each ID in the answer
func TestAnEventIsProcessed(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	n := i.start(t, "serve")
	id, customer := uniqueID("evt"), uniqueID("cus")
	body := customerUpdated(id, customer, "Ada", time.Now())

	a := n.send(t, body)
	require.Equal(t, 202, a.status, string(a.body))
	require.Equal(t, "accepted", a.state())
	workflowID := "stripe:" + id
	require.Equal(t, workflowID, a.Events[0].WorkflowID)
	i.awaitStatus(t, workflowID, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)

	var sum []byte
	var status, outcome, kind, runID string
	i.query(t, `SELECT sha256(raw_body), status, outcome, type, run_id FROM events WHERE id = $1`,
		[]any{a.Events[0].EventID}, &sum, &status, &outcome, &kind, &runID)
	want := sha256.Sum256(body)
	require.Equal(t, want[:], sum, "the stored bytes are those that were sent")
	require.Equal(t, []string{"processed", "processed", "customer.updated"}, []string{status, outcome, kind})

	var state string
	i.query(t, `SELECT state::text FROM entities WHERE (provider, kind, external_id) = ('stripe', 'customer', $1)`,
		[]any{customer}, &state)
	require.Contains(t, state, `"balance": 12345678901234567890`)
	require.Equal(t, 1, i.count(t, `SELECT count(*) FROM event_entities WHERE event_id = $1 AND external_id = $2`,
		a.Events[0].EventID, customer))

	i.assertReadableInTemporal(t, workflowID, runID, body)

	for _, known := range []string{a.Events[0].EventID, workflowID, a.RequestID} {
		out, err := i.run(t, "event", "show", known)
		require.NoError(t, err, out)
		for _, want := range []string{id, "customer.updated", "processed", customer, "Ada"} {
			require.Contains(t, out, want)
		}
	}
}

func (i *installation) assertReadableInTemporal(t *testing.T, workflowID, runID string, body []byte) {
	t.Helper()
	info := i.describe(t, workflowID)
	require.Equal(t, runID, info.GetExecution().GetRunId())
	fields := info.GetSearchAttributes().GetIndexedFields()
	require.JSONEq(t, `"stripe"`, string(fields["Provider"].GetData()))
	require.JSONEq(t, `"customer.updated"`, string(fields["EventType"].GetData()))

	response, err := i.dial(t).DescribeWorkflowExecution(context.Background(), workflowID, "")
	require.NoError(t, err)
	var summary string
	err = converter.GetDefaultDataConverter().FromPayload(response.GetExecutionConfig().GetUserMetadata().GetSummary(), &summary)
	require.NoError(t, err)
	require.Equal(t, "stripe customer.updated", summary)

	input := i.history(t, workflowID)[0].GetWorkflowExecutionStartedEventAttributes().GetInput().GetPayloads()
	require.Equal(t, "json/plain", string(input[1].GetMetadata()["encoding"]))
	require.Equal(t, string(body), string(input[1].GetData()), "the history has the exact bytes")
}

// A thousand concurrent identical requests:
//   - one is accepted, 999 are duplicates
//   - there is one row, one entity, one run
func TestIdenticalRequestsAreOneEvent(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	n := i.start(t, "serve")
	body := customerUpdated(uniqueID("evt"), uniqueID("cus"), "Ada", time.Now())
	signature := sign(body, secret, time.Now())

	const requests = 1000
	answers := make([]answer, requests)
	errs := make([]error, requests)
	var wg sync.WaitGroup
	gate := make(chan struct{})
	for k := range requests {
		wg.Go(func() {
			<-gate
			answers[k], errs[k] = n.post("/webhooks/stripe", body, "Stripe-Signature", signature)
		})
	}
	close(gate)
	wg.Wait()

	got := map[string]int{}
	for k, a := range answers {
		require.NoError(t, errs[k])
		got[fmt.Sprintf("%d duplicate=%t", a.status, a.Duplicate)]++
	}
	require.Equal(t, map[string]int{"202 duplicate=false": 1, "200 duplicate=true": 999}, got)
	i.awaitCount(t, 30*time.Second, 1, processedEvents)
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM events"))
	require.Zero(t, i.count(t, "SELECT count(*) FROM dead_letters"))
}

// Events of one entity, sent newest first:
//   - the entity has the state of the newest, not of the last one to arrive
func TestOrderOfArrivalDoesNotMatter(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	n := i.start(t, "serve")
	customer := uniqueID("cus")
	now := time.Now()
	for age := range 5 {
		body := customerUpdated(uniqueID("evt"), customer, fmt.Sprintf("name %d", age), now.Add(-time.Duration(age)*time.Minute))
		require.Equal(t, 202, n.send(t, body).status)
		i.awaitCount(t, 30*time.Second, age+1, processedEvents)
	}
	var state json.RawMessage
	i.query(t, "SELECT state FROM entities WHERE external_id = $1", []any{customer}, &state)
	require.Contains(t, string(state), "name 0")
}
