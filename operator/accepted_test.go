package operator_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/operator"
	"holdfast/operator/api"
	"holdfast/operator/httpapi"
)

// waitingWorld is a store with some rows and a Temporal server with some open runs, newest first.
type waitingWorld struct {
	*stub

	rows, runs []string
	isCut      bool
	down       error
	afterRead  func() // what happens after each read of a list; may be nil
}

func (w *waitingWorld) goOn() {
	if w.afterRead != nil {
		w.afterRead()
	}
}

func recordsOf(ids []string, status event.Status, q event.RecordQuery) (all []event.Record) {
	for _, id := range ids {
		if q.Before == "" || id < q.Before {
			all = append(all, event.Record{Receipt: event.Receipt{ID: id, Provider: "acme"}, Status: status})
		}
	}
	return all[:min(len(all), q.Limit)]
}

func (w *waitingWorld) Events(_ context.Context, q event.RecordQuery) ([]event.Record, error) {
	defer w.goOn()
	return recordsOf(w.rows, event.StatusProcessed, q), nil
}

func (w *waitingWorld) StoredEvents(context.Context, []string) (map[string]bool, error) {
	stored := map[string]bool{}
	for _, id := range w.rows {
		stored[id] = true
	}
	return stored, nil
}

func (w *waitingWorld) AcceptedEvents(_ context.Context, q event.RecordQuery) (event.AcceptedEvents, error) {
	q.Limit = len(w.runs)
	defer w.goOn()
	return event.AcceptedEvents{Records: recordsOf(w.runs, event.StatusAccepted, q), IsCut: w.isCut}, w.down
}

func (w *waitingWorld) Event(context.Context, string) (event.Record, error) {
	return event.Record{}, event.ErrNotFound
}

func (w *waitingWorld) WaitingEvent(context.Context, string) (event.Waiting, error) {
	return event.Waiting{}, event.ErrNotFound
}

func (w *waitingWorld) Decision(context.Context, string) (event.Decision, error) {
	return event.Decision{}, event.ErrNotFound
}

func (w *waitingWorld) ConflictOfEvent(context.Context, string) (event.Conflict, error) {
	return event.Conflict{}, event.ErrNotFound
}

func (w *waitingWorld) OwnerOfRedelivery(context.Context, string) (string, error) {
	return "", event.ErrNotFound
}

func (w *waitingWorld) AcceptedEvent(context.Context, string) (event.Accepted, bool, error) {
	return event.Accepted{}, w.isCut, event.ErrNotFound
}

func (w *waitingWorld) AcceptedOf(context.Context, string) (event.Accepted, error) {
	return event.Accepted{}, event.ErrNotFound
}

func (w *waitingWorld) WorkflowOfRun(context.Context, string) (string, error) {
	return "", event.ErrNotFound
}

// Acknowledged events without a row are listed among the stored ones, in order:
//   - over all pages each event is listed once, also one that has both a row and an open run
//   - the list reports when there are more open runs than were checked, and when Temporal doesn't answer
//   - filters that need a parsed event leave them out
func TestEventsThatWaitStandAmongTheStored(t *testing.T) {
	t.Parallel()
	id := func(n string) string { return "01a210f7-0000-7000-8000-00000000000" + n }
	w := &waitingWorld{
		stub: &stub{}, rows: []string{id("8"), id("6"), id("3"), id("1")}, runs: []string{id("9"), id("8"), id("5"), id("4"), id("2")},
	}
	_, base := serve(t, operator.Options{API: &api.API{Events: w, Accepted: w}})
	list := func(query string) (page httpapi.List[api.EventView]) {
		t.Helper()
		r := ask(t, "GET", base+"/events?"+query, "")
		require.Equal(t, 200, r.status, string(r.body))
		require.NoError(t, json.Unmarshal(r.body, &page))
		return page
	}
	var seen []string
	for page := list("limit=3"); ; page = list("limit=3&cursor=" + page.Next) {
		for _, e := range page.Items {
			seen = append(seen, e.ID[len(e.ID)-1:]+string(e.Status[:1]))
		}
		require.Empty(t, page.Note)
		if page.Next == "" {
			break
		}
	}
	require.Equal(t, []string{"9a", "8p", "6p", "5a", "4a", "3p", "2a", "1p"}, seen)
	require.Len(t, list("status=accepted").Items, 4)
	for _, query := range []string{
		"status=processed", "text=x", "possible_duplicate=true", "omitted=true",
		"provider=acme&entity_kind=thing&entity_id=1",
	} {
		for _, e := range list(query).Items {
			require.NotEqual(t, event.StatusAccepted, e.Status, query)
		}
	}

	w.isCut = true
	require.Contains(t, list("").Note, "There are more")
	unknown := ask(t, "GET", base+"/events/"+id("7"), "")
	require.Equal(t, 404, unknown.status)
	require.Contains(t, unknown.Error.Detail, "its workflow ID (provider:key) finds it")
	w.down = &event.Error{Class: event.ClassTransient, Code: "temporal_unavailable"}
	page := list("")
	require.Len(t, page.Items, len(w.rows))
	require.Contains(t, page.Note, "Temporal does not answer")
}

// lateList is a Temporal server whose list still lacks a run that it can already describe.
type lateList struct{ *waitingWorld }

func (lateList) EventOfWorkflow(context.Context, string) (string, error) {
	return "", event.ErrNotFound
}

func (lateList) WaitingByWorkflow(context.Context, string) (event.Waiting, error) {
	return event.Waiting{}, event.ErrNotFound
}

func (lateList) AcceptedOf(_ context.Context, workflowID string) (event.Accepted, error) {
	provider, key, _ := event.SplitWorkflowID(workflowID)
	return event.Accepted{
		Receipt: event.Receipt{ID: someID, Provider: provider, Key: key}, Run: event.Run{WorkflowID: workflowID}, Body: []byte(`{}`),
	}, nil
}

// An event is found by its workflow ID immediately, even though Temporal's list lags.
func TestAnAcknowledgedEventIsFoundAtOnce(t *testing.T) {
	t.Parallel()
	w := lateList{&waitingWorld{stub: &stub{}}}
	_, base := serve(t, operator.Options{API: &api.API{Events: w, Accepted: w}})
	var shown api.EventDetail
	r := ask(t, "GET", base+"/events/acme:evt_1", "")
	require.Equal(t, 200, r.status, string(r.body))
	require.NoError(t, json.Unmarshal(r.body, &shown))
	require.Equal(t, someID, shown.ID)
	require.Equal(t, event.StatusAccepted, shown.Status)
}

// An event that is stored between the two reads of a list, and whose run ends then, is listed once.
func TestAnEventStoredMeanwhileIsListed(t *testing.T) {
	t.Parallel()
	const id = "01a210f7-0000-7000-8000-000000000001"
	w := &waitingWorld{stub: &stub{}, runs: []string{id}}
	w.afterRead = func() { w.rows, w.runs = []string{id}, nil }
	_, base := serve(t, operator.Options{API: &api.API{Events: w, Accepted: w}})
	r := ask(t, "GET", base+"/events?limit=10", "")
	require.Equal(t, 200, r.status, string(r.body))
	var page httpapi.List[api.EventView]
	require.NoError(t, json.Unmarshal(r.body, &page))
	require.Len(t, page.Items, 1)
	require.Equal(t, id, page.Items[0].ID)
}
