package dispatcher

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"holdfast/event"
	"holdfast/operator/api"
)

const eventID = "01920000-0000-7000-8000-000000000001"

// known stands in for PostgreSQL and Temporal, and counts queries.
type known struct {
	api.EventStore
	api.AcceptedStore

	record            *event.Record
	decision          *event.Decision
	conflict          *event.Conflict
	sources           []string
	queries, describe int
	// workflows is how many the last query named.
	workflows int
}

func (k *known) Event(context.Context, string) (event.Record, error) {
	if k.record == nil {
		return event.Record{}, event.ErrNotFound
	}
	return *k.record, nil
}

func (k *known) Decision(context.Context, string) (event.Decision, error) {
	if k.decision == nil {
		return event.Decision{}, event.ErrNotFound
	}
	return *k.decision, nil
}

func (k *known) OwnerOfRedelivery(context.Context, string) (string, error) {
	return "", event.ErrNotFound
}

func (k *known) ConflictOfEvent(context.Context, string) (event.Conflict, error) {
	if k.conflict == nil {
		return event.Conflict{}, event.ErrNotFound
	}
	return *k.conflict, nil
}

func (k *known) WaitingEvent(context.Context, string) (event.Waiting, error) {
	return event.Waiting{}, event.ErrNotFound
}

func (k *known) Duplicates(context.Context, string) (event.Duplicates, error) {
	return event.Duplicates{}, nil
}

func (k *known) AcceptedOf(context.Context, string) (event.Accepted, error) {
	k.describe++
	return event.Accepted{}, event.ErrNotFound
}

func (k *known) AcceptedEvent(context.Context, string) (event.Accepted, bool, error) {
	return event.Accepted{}, true, event.ErrNotFound
}

func (k *known) AcceptedEvents(context.Context, event.RecordQuery) (event.AcceptedEvents, error) {
	return event.AcceptedEvents{}, nil
}

func (k *known) SourcesOf(context.Context, string, int) ([]string, error) { return k.sources, nil }

func (k *known) EventsOfWorkflows(_ context.Context, workflows []string) (map[string]string, error) {
	k.queries++
	k.workflows = len(workflows)
	return nil, nil
}

func (k *known) serve() *Server {
	return New(Options{
		API:          &api.API{Events: k, Accepted: k},
		Authenticate: func(string) error { return nil },
		Parse:        func([]byte) error { return nil },
		Key:          func(id, source string) string { return strings.TrimPrefix(source+":"+id, ":") },
	})
}

func get(s *Server, path string) (status int, body string) {
	var c fasthttp.RequestCtx
	c.Init(&fasthttp.Request{}, nil, nil)
	c.Request.SetRequestURI(path)
	s.Handle(&c)
	return c.Response.StatusCode(), string(c.Response.Body())
}

// Looking up an unknown ID takes a few queries, however many sources have published.
func TestAnUnknownIDIsAFewQuestions(t *testing.T) {
	t.Parallel()
	k := &known{}
	for i := range 400 {
		k.sources = append(k.sources, fmt.Sprint("service-", i))
	}
	status, _ := get(k.serve(), "/events/evt_1")
	require.Equal(t, 404, status)
	require.Equal(t, len(k.sources)+1, k.workflows)
	require.Equal(t, 2, k.queries, "before and after Temporal is asked")
	require.LessOrEqual(t, k.describe, maxAsked)
}

// The ID of another provider's event reveals nothing about it: neither an operator's decision nor the event that has its key.
func TestOthersEventsDoNotExist(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]*known{
		"stored":   {record: &event.Record{Receipt: event.Receipt{ID: eventID, Provider: "stripe", ReceivedAt: time.Now()}}},
		"expunged": {decision: &event.Decision{EventID: eventID, Outcome: event.OutcomeExpunged, By: "ada"}},
		"dropped":  {conflict: &event.Conflict{Owner: "other"}},
		"unknown":  {},
	} {
		status, body := get(k.serve(), "/events/"+eventID)
		require.Equal(t, 404, status, name)
		var refused struct {
			Error struct{ Code, Message, Detail string }
		}
		require.NoError(t, json.Unmarshal([]byte(body), &refused))
		require.Equal(t, "no_such_thing", refused.Error.Code, name)
		require.Empty(t, refused.Error.Detail, name)
	}
}

// Field names are matched exactly, as in the definition.
func TestNamesOfFieldsAreExact(t *testing.T) {
	t.Parallel()
	s := (&known{}).serve()
	require.Equal(t, "type: is missing", s.Check(Provider, "", []byte(`{"id":"evt_1","Type":"order.paid"}`)))
	require.Empty(t, s.Check(Provider, "", []byte(`{"id":"evt_1","type":"order.paid","source":"shop","SOURCE":"erp","ID":7}`)))
	require.Equal(t, []string{"shop"}, s.recent.list())
	view := viewEvent(api.EventDetail{Body: api.Content{JSON: json.RawMessage(`{"id":"evt_1","ID":"evt_2","Data":1}`)}}, nil, 0)
	require.Equal(t, "evt_1", view.ID)
	require.Empty(t, view.Data)
}

// A source that no request can contain isn't kept.
func TestHugeSourcesAreNotKept(t *testing.T) {
	t.Parallel()
	s := (&known{}).serve()
	for _, source := range []string{strings.Repeat("a", 1<<20), strings.Repeat("b", 300)} {
		require.Empty(t, s.Check(Provider, "", []byte(`{"id":"evt_1","type":"order.paid","source":"`+source+`"}`)))
	}
	require.Equal(t, []string{strings.Repeat("b", 300)}, s.recent.list())
}
