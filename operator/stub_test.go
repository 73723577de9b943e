package operator_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/delivery/admin"
	"holdfast/delivery/webhook"
	"holdfast/event"
	"holdfast/event/feed"
	"holdfast/event/fold"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/operator/access"
	"holdfast/operator/api"
	"holdfast/operator/api/definitionapi"
	"holdfast/operator/api/deliveryapi"
	"holdfast/operator/api/eventtypeapi"
	"holdfast/providers"
)

// stub stands in for everything behind the API, to observe what reaches it. Package e2e tests the API with real backends.
type stub struct {
	// Only the console calls the methods that stub lacks.
	api.EventStore
	deliveryapi.DeliveryStore

	staged    []string
	importErr error
	mu        sync.Mutex
	calls     []string
	actor     oversight.Actor
	events    event.RecordQuery
	// report has the bounds of the last report.
	report [2]time.Time
	edit   operation.Edit
	err    error

	changes []feed.Change

	noRow, noLetter bool
	hasDelivery     bool
	redelivery      string // its ID; someID is the event that it repeated
	decision        *event.Decision
	idleConnections *event.Waiting
	conflict        *event.Conflict

	// noSuch is a name that no destination or subscription has. The fields below record what reached them.
	noSuch string
	// temporal belongs to the destination called queue.
	temporal delivery.Temporal
	// noSubscription is the name of a destination without a subscription.
	noSubscription string
	destination    delivery.Destination
	subscription   delivery.Subscription
	secret         string
	grace          time.Duration
	choice         admin.Choice
	deliveries     delivery.Query
	key            delivery.Key
	// started is the operation that was started last.
	started operation.Any
}

func (s *stub) call(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, name)
	return s.err
}

func (s *stub) changed(name string, by oversight.Actor) error {
	s.mu.Lock()
	s.actor = by
	s.mu.Unlock()
	return s.call(name)
}

func (s *stub) called() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

var (
	noon   = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	someID = "0193b4a0-0000-7000-8000-000000000001"
	body   = []byte(`{"card":"4242","name":"Ada"}`)
)

func someReceipt() event.Receipt {
	return event.Receipt{
		ID: someID, Provider: "acme", Key: "evt_1", KeyFrom: event.KeyFromEvent, ReceivedAt: noon, RequestID: "req_1",
		Headers: map[string]string{"authorization": "hunter2"}, Root: json.RawMessage(`{"card":"4242"}`),
	}
}

func someLink() event.Link {
	ref := event.EntityRef{Provider: "acme", Kind: "thing", ExternalID: "1"}
	return event.Link{
		EntityRef: ref, EventID: someID, Position: 1, Op: event.OpPatch, State: json.RawMessage(`{"card":"4242"}`),
		OccurredAt: noon,
	}
}

func someRecord() event.Record {
	return event.Record{
		Receipt: someReceipt(), Type: "thing.changed", Status: event.StatusProcessed, Outcome: event.OutcomeProcessed,
		OccurredAt: noon, PersistedAt: noon, ProcessedAt: &noon, Run: event.Run{WorkflowID: "acme:evt_1", RunID: "run"},
		Body: body, Links: []event.Link{someLink()},
	}
}

func someLetter() event.DeadLetter {
	return event.DeadLetter{
		ID: 7, Receipt: someReceipt(), Body: body, State: event.DeadLetterOpen, FirstFailed: noon, LastFailed: noon,
		Failure: event.Failure{Step: event.StepParse, Class: event.ClassRejected, Code: "jq_null", Message: "jq_null: evaluate type", At: noon}, Failures: 1,
	}
}

func (s *stub) Event(_ context.Context, id string) (event.Record, error) {
	if s.noRow || id == s.redelivery {
		return event.Record{}, event.ErrNotFound
	}
	return someRecord(), s.call("event")
}

func (s *stub) Decision(context.Context, string) (event.Decision, error) {
	if s.decision == nil {
		return event.Decision{}, event.ErrNotFound
	}
	return *s.decision, nil
}

func (s *stub) WaitingEvent(context.Context, string) (event.Waiting, error) {
	if s.idleConnections == nil {
		return event.Waiting{}, event.ErrNotFound
	}
	return *s.idleConnections, nil
}

func (s *stub) LargeBody(context.Context, event.Receipt) ([]byte, error) {
	return body, s.call("large body")
}

func (s *stub) Duplicates(context.Context, string) (event.Duplicates, error) {
	return event.Duplicates{Times: 3, FirstSeen: noon, LastSeen: noon}, nil
}

func (s *stub) EventOfWorkflow(_ context.Context, workflowID string) (string, error) {
	if workflowID != "acme:a/b" {
		return "", event.ErrNotFound
	}
	return someID, nil
}

func (s *stub) ConflictOfEvent(context.Context, string) (event.Conflict, error) {
	if s.conflict == nil {
		return event.Conflict{}, event.ErrNotFound
	}
	return *s.conflict, nil
}

func (s *stub) OwnerOfRedelivery(_ context.Context, id string) (string, error) {
	if id != s.redelivery {
		return "", event.ErrNotFound
	}
	return someID, nil
}

func (s *stub) DeadLetterOfEvent(context.Context, string) (event.DeadLetter, error) {
	if s.noLetter {
		return event.DeadLetter{}, event.ErrNotFound
	}
	return someLetter(), nil
}

func (s *stub) Events(_ context.Context, q event.RecordQuery) ([]event.Record, error) {
	s.events = q
	rows := make([]event.Record, q.Limit)
	for i := range rows {
		rows[i] = someRecord()
	}
	return rows, s.call("events")
}

func (s *stub) DeadLetter(context.Context, int64) (event.DeadLetter, error) {
	return someLetter(), s.call("dead letter")
}

func (s *stub) SearchEvents(_ context.Context, q event.RecordQuery) (event.FoundEvents, error) {
	s.events = q
	return event.FoundEvents{Records: []event.Record{someRecord()}, SearchedTo: someID}, s.call("search")
}

func (s *stub) Causes(_ context.Context, provider string) ([]operation.Cause, error) {
	return []operation.Cause{{
		Provider: provider, Step: event.StepParse, Class: event.ClassFailed, Code: "jq_failed", Rule: "type", Open: 7,
		Oldest: noon, Newest: noon, Example: 7,
	}}, s.call("causes")
}

func (s *stub) DeadLetters(context.Context, event.DeadLetterQuery) ([]event.DeadLetter, error) {
	return []event.DeadLetter{someLetter()}, s.call("dead letters")
}

func (s *stub) DiscardDeadLetter(_ context.Context, _ int64, by oversight.Actor) error {
	return s.changed("discard", by)
}

func (s *stub) ReopenDeadLetter(_ context.Context, _ int64, by oversight.Actor) error {
	return s.changed("reopen", by)
}

func (s *stub) DeleteDeadLetter(_ context.Context, _ int64, by oversight.Actor) error {
	return s.changed("delete", by)
}

func (s *stub) CleanUpDeadLetters(_ context.Context, _ operation.Cleanup, by oversight.Actor) (int64, error) {
	return 3, s.changed("cleanup", by)
}

func (s *stub) Replay(_ context.Context, id int64, by oversight.Actor) (operation.Replayed, error) {
	run := event.Run{WorkflowID: "acme:evt_1", RunID: "run"}
	return operation.Replayed{DeadLetter: id, EventID: someID, Run: run}, s.changed("replay", by)
}

func (s *stub) Fetch(_ context.Context, id int64, by oversight.Actor) (operation.Replayed, error) {
	return operation.Replayed{DeadLetter: id}, s.changed("fetch", by)
}

func (s *stub) EditAndReplay(_ context.Context, e operation.Edit, by oversight.Actor) (operation.Replayed, error) {
	s.edit = e
	return operation.Replayed{DeadLetter: 8, EventID: e.EventID, Run: event.Run{WorkflowID: "acme:evt_1:r1"}},
		s.changed("edit", by)
}

func someEntity() event.Entity {
	l := someLink()
	return event.Entity{EntityRef: l.EntityRef, State: l.State, Last: event.Order{OccurredAt: noon, EventID: someID}}
}

func (s *stub) Entity(_ context.Context, ref event.EntityRef) (event.Entity, error) {
	e := someEntity()
	e.EntityRef = ref
	return e, s.call("entity")
}

func (s *stub) EntityAsOf(context.Context, event.EntityRef, time.Time) (event.Entity, error) {
	return someEntity(), s.call("entity as of")
}

func (s *stub) EntityList(_ context.Context, q event.EntityQuery) (event.FoundEntities, error) {
	e := someEntity()
	e.State = nil
	return event.FoundEntities{Entities: []event.Entity{e}, SearchedTo: q.After, ChangedSince: q.Since}, s.call("entities")
}

func (s *stub) EntitiesNamed(context.Context, string, int) ([]event.EntityRef, error) {
	return nil, s.call("entities named")
}

func (s *stub) Effects(context.Context, event.TimelineQuery) ([]fold.Effect, error) {
	return []fold.Effect{{Link: someLink(), Fields: []fold.FieldDiff{{Path: "/card", New: json.RawMessage(`"4242"`)}}}}, s.call("effects")
}

func (s *stub) TimelinePage(context.Context, event.TimelineQuery) ([]event.Link, error) {
	return []event.Link{someLink()}, s.call("timeline")
}

func (s *stub) Conflicts(context.Context, event.ConflictQuery) ([]event.Conflict, error) {
	return []event.Conflict{{ID: 1, Provider: "stripe", Source: "a", Key: "k", Type: "t", Times: 1}}, nil
}

func (s *stub) AuditLog(context.Context, oversight.AuditQuery) ([]oversight.AuditEntry, error) {
	e := oversight.Actor{Name: "ada"}.Did("dead_letter.discard", "dead_letter:7", nil)
	e.ID, e.At = 1, noon
	return []oversight.AuditEntry{e}, s.call("audit")
}

func (s *stub) Errors(_ context.Context, q oversight.ErrorQuery) ([]oversight.ErrorEntry, error) {
	return []oversight.ErrorEntry{{
		ID: min(7, max(1, q.Before-1)), At: noon, Phase: event.PhaseParse, Class: event.ClassFailed, Code: "x", Count: 1, EventID: someID,
	}}, s.call("errors")
}

func (s *stub) DeliveryTotals(
	context.Context, []int64, oversight.Span,
) (map[int64]oversight.DeliveryBucket, error) {
	return nil, s.call("delivery totals")
}

func (s *stub) Attention(context.Context) (oversight.Attention, error) {
	return oversight.Attention{}, nil
}

func (s *stub) Stats(context.Context, time.Duration) (oversight.Stats, error) {
	return oversight.Stats{
		At: noon, Queues: []oversight.QueueStats{{Queue: "events"}}, Events: []oversight.EventCount{}, Inbox: []oversight.InboxCount{},
		DeadLetters: []oversight.DeadLetterCount{}, Deliveries: []oversight.DeliveryCount{}, Errors: []oversight.ErrorCount{},
	}, s.call("stats")
}

func (s *stub) EventHistory(context.Context, string, oversight.Span) ([]oversight.EventBucket, error) {
	return []oversight.EventBucket{{At: noon, Processed: 5, Dead: 1}}, s.call("event history")
}

func (s *stub) DeliveryHistory(context.Context, int64, oversight.Span) ([]oversight.DeliveryBucket, error) {
	return nil, s.call("delivery history")
}

func (s *stub) Report(_ context.Context, since, until time.Time) (oversight.Report, error) {
	s.report = [2]time.Time{since, until}
	return oversight.Report{
		Since: since, Until: until, Received: []oversight.Trend{}, Failed: []oversight.Trend{}, Waiting: []oversight.Backlog{},
	}, s.call("report")
}

func (s *stub) WaitingByWorkflow(_ context.Context, id string) (event.Waiting, error) {
	return event.Waiting{}, cmp.Or(s.call("waiting by workflow "+id), event.ErrNotFound)
}

func (s *stub) StoredEvents(context.Context, []string) (map[string]bool, error) {
	return map[string]bool{}, s.call("stored events")
}

func (s *stub) EventByKey(context.Context, string, string) (event.Record, error) {
	return event.Record{}, cmp.Or(s.call("event by key"), event.ErrNotFound)
}

func (s *stub) EventsOfRequest(context.Context, string) ([]string, error) {
	return nil, cmp.Or(s.call("events of request"), event.ErrNotFound)
}

func (s *stub) EventVersion(context.Context, string) (string, error) {
	return "1", s.call("version of event")
}

func (s *stub) WorkflowsOf(context.Context, string) ([]string, error) {
	return nil, cmp.Or(s.call("workflows of event"), event.ErrNotFound)
}

func (s *stub) Inbox(context.Context, event.InboxQuery) ([]event.Waiting, error) {
	return []event.Waiting{*someWaiting()}, s.call("inbox")
}

func someWaiting() *event.Waiting {
	return &event.Waiting{Seq: 1, Lane: event.LaneBulk, Receipt: someRecord().Receipt, DueAt: noon}
}

// Redacts and Redact hide a card.
func (s *stub) Redacts(provider string) bool { return provider == "acme" }

func (s *stub) Redact(_ event.Receipt, body []byte) (json.RawMessage, error) {
	if !json.Valid(body) {
		return nil, errors.New("not JSON")
	}
	return bytes.ReplaceAll(body, []byte("4242"), []byte("[redacted]")), nil
}

// acmeDefinitions has the definition of acme in testdata.
var acmeDefinitions = sync.OnceValue(func() *providers.Live {
	token := func(string) []string { return []string{"a-token-of-acme-webhooks"} }
	live, err := providers.LoadLive("testdata/definitions", token, nil, nil)
	if err != nil {
		panic(err)
	}
	return live
})

func (s *stub) api() *api.API {
	all := &api.API{
		Events: s, DeadLetters: s, SingleReplays: s, Entities: s, Audit: s, Errors: s, Conflicts: s, Stats: s, Maintenance: s, Replays: s.replays(),
		Rebuilds: s.rebuilds(), Imports: s.imports(),
		Recoveries: stubOperations[operation.Recovery]{s, someRecovery()},
		Redactor:   s, Payloads: s, Changes: s, Live: feed.NewHub(s, 2),
		EventTypes: &eventtypeapi.API{Store: s},
		Outbound: &deliveryapi.API{
			Stored: s, CheckSignature: webhook.CheckSignature, Pruner: s,
			Destinations: s, Changes: s, Subscriptions: s, Trials: s, Deliveries: s, Resends: s.resends(),
		},
	}
	all.Definitions = &definitionapi.API{Live: acmeDefinitions, Event: all.FindEvent, Shapes: stubShapes{}}
	return all
}

func (s *stub) EncodeJSON([]byte) ([]byte, error) { return []byte(`{"payloads":[]}`), s.call("encode") }

func (s *stub) DecodeJSON([]byte) ([]byte, error) { return []byte(`{"payloads":[]}`), s.call("decode") }

// crowd returns tokens of all roles, and their texts by role.
func crowd(t *testing.T) (tokens access.Tokens, texts map[access.Role]string) {
	t.Helper()
	texts = map[access.Role]string{}
	for _, role := range access.Roles() {
		text, token, err := access.NewToken("the-"+string(role), role)
		require.NoError(t, err)
		tokens, texts[role] = append(tokens, token), text
	}
	return tokens, texts
}

type reply struct {
	status int
	header http.Header
	body   []byte
	Error  struct {
		Code      string `json:"code"`
		Message   string `json:"message"`
		RequestID string `json:"request_id"`
		Field     string `json:"field"`
		Detail    string `json:"detail"`
	} `json:"error"`
}

// ask sends a request with headers given as name, value, name, value …
func ask(t *testing.T, method, url, content string, headers ...string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader([]byte(content)))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	if len(content) > 1<<20 { // as commands do: who writes a body that is refused can miss the response
		req.Header.Set("Expect", "100-continue")
	}
	if strings.HasPrefix(content, `{"record":`) {
		req.Header.Set("Content-Type", "application/x-ndjson")
	}
	if strings.Contains(content, `"jsonrpc":`) {
		req.Header.Set("Accept", "application/json, text/event-stream")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	res := send(t, req)
	defer res.Body.Close()
	r := reply{status: res.StatusCode, header: res.Header}
	r.body, err = io.ReadAll(res.Body)
	require.NoError(t, err)
	_ = json.Unmarshal(r.body, &r) // not every response is JSON
	return r
}

func bearer(text string) []string { return []string{"Authorization", "Bearer " + text} }
