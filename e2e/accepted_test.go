package e2e

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	operatorapi "holdfast/operator/api"
	"holdfast/operator/httpapi"
)

// Events are acknowledged while there is no worker:
//   - the API and the command line find each by its ID, its workflow and its key, as accepted and waiting for a worker
//   - the list has them in its order, page by page, and with each of its filters
//   - while Temporal is down the list still works, and says what is missing
//   - once a worker has processed them, the list has each of them once, as processed
func TestAnEventThatNoWorkerHasTakenIsFound(t *testing.T) {
	t.Parallel()
	i := newInstallation(t, "HOLDFAST_OPERATOR_TEMPORAL_WEB=https://temporal.example.com")
	ingress, operator := i.start(t, "ingress"), i.start(t, "operator")
	a := api{url: operator.operator}
	var workflows, newest []string
	for range 3 {
		one := ingress.send(t, customerUpdated(uniqueID("evt"), uniqueID("cus"), "Ada", time.Now()))
		require.Equal(t, "accepted", one.state(), string(one.body))
		workflows = append(workflows, one.Events[0].WorkflowID)
		newest = append([]string{one.Events[0].EventID}, newest...)
	}
	workflowID, eventID, run := workflows[0], newest[2], i.describe(t, workflows[0]).GetExecution().GetRunId()
	key := strings.TrimPrefix(workflowID, "stripe:")
	eventually(t, 30*time.Second, "Temporal lists the runs", func() error {
		return atLeast(i.runsOf(t, "WorkflowType = 'ProcessEvent' AND ExecutionStatus = 'Running'"), len(newest))
	})

	for _, name := range []string{eventID, workflowID} {
		var shown operatorapi.EventDetail
		a.call(t, "GET", "/events/"+url.PathEscape(name), "", 200, &shown)
		require.Equal(t, eventID, shown.ID)
		require.Equal(t, "accepted", string(shown.Status))
		require.Equal(t, "waiting for a worker", shown.Wait.Reason)
		require.Contains(t, shown.Wait.Advice, "holdfast worker")
		require.Equal(t, []string{workflowID, run}, []string{shown.Run.WorkflowID, shown.Run.RunID})
		require.WithinDuration(t, time.Now(), shown.ReceivedAt, time.Minute)
		require.Contains(t, string(shown.Body.Raw), key)
		require.Contains(t, shown.TemporalWeb, "https://temporal.example.com/namespaces/"+i.namespace)
	}
	for _, name := range []string{eventID, workflowID, key} {
		out, err := i.run(t, "event", "show", name)
		require.NoError(t, err, out)
		require.Contains(t, out, "accepted, waiting for a worker")
		require.Contains(t, out, run)
	}

	list := func(query string) (page httpapi.List[operatorapi.EventView]) {
		t.Helper()
		a.call(t, "GET", "/events?"+query, "", 200, &page)
		return page
	}
	ids := func(page httpapi.List[operatorapi.EventView]) (all []string) {
		for _, e := range page.Items {
			all = append(all, e.ID)
		}
		return all
	}
	require.Equal(t, newest, ids(list("")))
	require.Empty(t, list("").Note)
	page := list("limit=2")
	require.Equal(t, newest[:2], ids(page))
	require.Equal(t, newest[2:], ids(list("limit=2&cursor="+page.Next)))
	for query, want := range map[string]int{
		"provider=stripe": 3, "provider=github": 0, "type=customer.updated": 3, "type=it%27s": 0, "status=accepted": 3, "status=processed": 0,
		"key=" + key: 1, "since=1h": 3, "until=1h": 0,
	} {
		require.Len(t, list(query).Items, want, query)
	}
	out, err := i.run(t, "event", "list", "--status", "accepted")
	require.NoError(t, err, out)
	require.Equal(t, 3, strings.Count(out, "accepted"), out)

	down, err := i.runWith(t, []string{"TEMPORAL_ADDRESS=127.0.0.1:1"}, "event", "list", "--json")
	require.NoError(t, err, down)
	require.Contains(t, down, "events that wait for a worker aren't included")

	i.start(t, "worker")
	i.awaitCount(t, time.Minute, 3, processedEvents)
	require.Equal(t, newest, ids(list("")))
	require.Equal(t, "processed", string(list("").Items[0].Status))
}

// Parts of something that doesn't exist don't exist either: the answer is the API's not-found error.
func TestPartsOfUnknownThingsAreUnknown(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	n := i.start(t, "serve")
	known := n.send(t, customerUpdated(uniqueID("evt"), "cus_known", "Ada", time.Now())).Events[0]
	i.awaitCount(t, time.Minute, 1, processedEvents)
	a, unknown := api{url: n.operator}, uuid.Must(uuid.NewV7()).String()
	for _, path := range []string{
		"/events/%s", "/events/%s/attempts", "/deliveries/%s/crm", "/entities/stripe/customer/%s",
		"/entities/stripe/customer/%s/timeline", "/rebuilds/%s", "/rebuilds/%s/diff", "/replays/%s", "/resends/%s", "/imports/%s",
		"/destinations/%s", "/subscriptions/%s", "/subscriptions/%s/check",
	} {
		path = fmt.Sprintf(path, unknown)
		require.Equal(t, "no_such_thing", a.call(t, "GET", path, "", 404, nil).Error.Code, path)
	}
	var attempts httpapi.List[any]
	a.call(t, "GET", "/events/"+known.EventID+"/attempts", "", 200, &attempts)
	require.NotNil(t, attempts.Items)
	a.call(t, "GET", "/entities/stripe/customer/cus_known/timeline", "", 200, nil)
	out, err := i.run(t, "event", "attempts", unknown)
	require.Error(t, err, out)
}

// One installation has no workers. Another's workers lack the payload key, and those of a third fail to store the event:
//   - the doctor of each counts the run, names it, and the next command
//   - `holdfast event show` says what the event waits for, and what to do
func TestTheDoctorFindsRunsThatAreStuck(t *testing.T) {
	t.Parallel()
	idle, broken := newInstallation(t), newInstallation(t, "HOLDFAST_PAYLOAD_KEYS="+newPayloadKey(t, "2026"))
	locked := newInstallation(t)
	locked.lock(t, "events")
	unwritten := locked.start(t, "serve").send(t, someEvent()).Events[0].WorkflowID
	unstored := idle.start(t, "ingress").send(t, someEvent()).Events[0].WorkflowID
	failing := broken.start(t, "ingress").send(t, someEvent()).Events[0].WorkflowID
	broken.start(t, "worker", "HOLDFAST_PAYLOAD_KEYS="+newPayloadKey(t, "2027"))

	idle.awaitStuck(t, unstored, "1 not stored", "`holdfast event show "+unstored+"`")
	idle.requireShown(t, unstored, "accepted, waiting for a worker", "holdfast worker")
	broken.awaitStuck(t, failing, "1 whose workflow task fails", "`temporal workflow describe --workflow-id "+failing+"`")
	broken.requireShown(t, failing, "accepted, its workflow task fails", "payload keys")
	locked.awaitStuck(t, unwritten, "its step failed (persist", "`holdfast event show "+unwritten+"`")
	locked.requireShown(t, unwritten, "accepted, its step failed (persist", "the step is retried automatically")
}

// A worker lacks the definition that the ingress has, so the event's first step fails and waits for its next attempt. The API, the
// command line and the console name the step, its error and the time of the next attempt, not a missing worker.
func TestAnEventBetweenTwoAttemptsSaysWhy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "acme.yaml"), []byte(acme), 0o600))
	i := newInstallation(t, "ACME_TOKEN="+secret)
	i.start(t, "worker")
	ingress, operator := i.start(t, "ingress", "HOLDFAST_PROVIDERS_DIR="+dir), i.start(t, "operator")
	ingress.deliver(t, 202, "/webhooks/acme", `{"id":"e1","type":"order.paid","order":"o1","total":7}`, "X-Acme-Token", secret)
	a := api{url: operator.operator}
	var shown operatorapi.EventDetail
	eventually(t, 30*time.Second, "the event waits for its next attempt", func() error {
		a.call(t, "GET", "/events/acme:e1", "", 200, &shown)
		if shown.Wait == nil || shown.Wait.RetryAt.IsZero() {
			return fmt.Errorf("%+v", shown.Wait)
		}
		return nil
	})
	require.Equal(t, "parse", strings.Split(shown.Wait.Activity, " ")[0])
	require.Contains(t, shown.Wait.Error, "unknown_provider")
	require.Contains(t, shown.Wait.Reason, "runs again in")
	require.Contains(t, shown.Wait.Advice, "HOLDFAST_PROVIDERS_DIR")
	require.Greater(t, shown.Wait.RetryAt, shown.ReceivedAt)
	i.requireShown(t, "acme:e1", "accepted, its step failed (parse", "unknown_provider", "HOLDFAST_PROVIDERS_DIR")
	response, err := client.Get(operator.operator + "/console/events/" + shown.ID)
	require.NoError(t, err)
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Contains(t, string(page), "accepted, its step failed (parse")
}

// awaitStuck waits until the doctor finds a run, and the next command.
func (i *installation) awaitStuck(t *testing.T, workflowID, detail, advice string) {
	t.Helper()
	eventually(t, 3*time.Minute, "the doctor finds "+workflowID, func() error {
		f, _ := i.doctor(t)
		for _, one := range f.Findings {
			if one.Check == "open runs" && strings.Contains(one.Detail, detail) && strings.Contains(one.Detail, workflowID) {
				require.Contains(t, []string{"warn", "fail"}, one.Result)
				require.Contains(t, one.Advice, advice)
				return nil
			}
		}
		return fmt.Errorf("%+v", f.Findings)
	})
}

func (i *installation) requireShown(t *testing.T, workflowID string, texts ...string) {
	t.Helper()
	out, err := i.run(t, "event", "show", workflowID)
	require.NoError(t, err, out)
	for _, text := range texts {
		require.Contains(t, out, text)
	}
}
