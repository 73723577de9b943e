package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/converter"
)

// shownStep is a step as Temporal Web shows it: the type of the activity, its summary, and its result.
type shownStep struct{ Activity, Summary, Result string }

// steps returns the steps in the history of a run, those on the fast lane and those on the durable lane.
func (i *installation) steps(t *testing.T, workflowID string) (steps []shownStep) {
	t.Helper()
	summary := func(e interface{ GetData() []byte }) (text string) {
		if data := e.GetData(); len(data) > 0 {
			require.NoError(t, json.Unmarshal(data, &text))
		}
		return text
	}
	for _, e := range i.history(t, workflowID) {
		if scheduled := e.GetActivityTaskScheduledEventAttributes(); scheduled != nil {
			steps = append(steps, shownStep{Activity: scheduled.GetActivityType().GetName(), Summary: summary(e.GetUserMetadata().GetSummary())})
		}
		marker := e.GetMarkerRecordedEventAttributes()
		if marker.GetMarkerName() != "LocalActivity" {
			continue
		}
		var data struct{ ActivityType string }
		require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(marker.GetDetails()["data"], &data))
		step := shownStep{Activity: data.ActivityType, Summary: summary(e.GetUserMetadata().GetSummary())}
		for _, p := range marker.GetDetails()["result"].GetPayloads() {
			step.Result = string(p.GetData())
		}
		steps = append(steps, step)
	}
	return steps
}

// What a developer sees of an event in Temporal Web:
//   - for an ordinary event parse, persist and upsert, with what happened to which entities; the same for one without entities
//   - for an ignored event, or one whose key another event owns, parse and persist: there is nothing to upsert
//   - for an unparsable event the parse step and the record of the dead letter
func TestAHistoryShowsEachStep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	definitions := map[string]string{
		"acme":     acme + "overrides: [{types: [order.seen], ignore: true}, {types: [order.void], entities: []}]\n",
		"homemade": definitionOf("json"),
	}
	for name, text := range definitions {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(text), 0o600))
	}
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir, "ACME_TOKEN="+secret)
	n := i.start(t, "serve")
	deliver := func(id, body string) []shownStep {
		t.Helper()
		n.deliver(t, 202, "/webhooks/acme", body, "X-Acme-Token", secret)
		i.awaitStatus(t, "acme:"+id, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
		return i.steps(t, "acme:"+id)
	}
	named := func(steps []shownStep) (names []string) {
		for _, s := range steps {
			names = append(names, s.Activity+": "+s.Summary)
		}
		return names
	}

	customer, happy := uniqueID("cus"), uniqueID("evt")
	n.send(t, customerUpdated(happy, customer, "Ada", time.Now()))
	i.awaitStatus(t, "stripe:"+happy, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	steps := i.steps(t, "stripe:"+happy)
	require.Equal(t, []string{
		"ParseEvent: parse", "PersistEvent: persist", "UpsertEntities: upsert: created customer " + customer,
	}, named(steps))
	require.JSONEq(t, `{"entities":["created customer `+customer+`"]}`, steps[2].Result)
	i.replay(t, "three_steps", "stripe:"+happy)

	require.Equal(t, []string{"ParseEvent: parse", "PersistEvent: persist", "UpsertEntities: upsert: created order o1"},
		named(deliver("e1", `{"id":"e1","type":"order.paid","order":"o1","total":7}`)))
	require.Equal(t, []string{"ParseEvent: parse", "PersistEvent: persist", "UpsertEntities: upsert: no entities"},
		named(deliver("e2", `{"id":"e2","type":"order.void","order":"o1"}`)))
	require.Equal(t, []string{"ParseEvent: parse", "PersistEvent: persist"},
		named(deliver("e3", `{"id":"e3","type":"order.seen","order":"o1"}`)), "ignored")

	i.forget(t, "acme:e1", "Completed")
	require.Equal(t, []string{"ParseEvent: parse", "PersistEvent: persist"},
		named(deliver("e1", `{"id":"e1","type":"order.paid","order":"o1","total":7}`)), "a duplicate that Temporal has forgotten")

	dead := uniqueID("msg")
	n.sendStandard(t, "/webhooks/homemade", dead, []byte(poison))
	i.awaitStatus(t, "homemade:"+dead, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
	require.Equal(t, []string{"ParseEvent: parse", "RecordDeadLetter: dead letter"}, named(i.steps(t, "homemade:"+dead)))
}

// A batch of the bulk lane has one step for all of its events: they are parsed, persisted and upserted in one transaction.
func TestAHistoryOfABatchShowsItsStep(t *testing.T) {
	t.Parallel()
	i := newBulkInstallation(t)
	n := i.start(t, "serve")
	id := uniqueID("evt")
	n.send(t, customerUpdated(id, uniqueID("cus"), "Ada", time.Now()))
	i.awaitCount(t, time.Minute, 1, inBatches)
	var eventID string
	i.query(t, "SELECT id::text FROM events WHERE key = $1", []any{id}, &eventID)
	workflowID, _ := i.batchOf(t, eventID)
	i.awaitStatus(t, workflowID, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	steps := i.steps(t, workflowID)
	require.Len(t, steps, 1)
	require.Equal(t, "ProcessInboxBatch", steps[0].Activity)
	require.Equal(t, "parse, persist and upsert of a batch", steps[0].Summary)
	require.Contains(t, steps[0].Result, "processed stripe:"+id)
}
