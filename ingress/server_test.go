package ingress

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"holdfast/event"
	"holdfast/ingress/intake"
	"holdfast/providers"
	"holdfast/providers/auth"
	"holdfast/workflows/runs"
)

// secret signs what the tests send.
const secret = "whsec_c2lnbmluZyBrZXkgb2YgdGhlIHRlc3Rz"

// fakeStarter stands in for Temporal in tests of HTTP: it records what was started, by workflow ID.
type fakeStarter struct {
	mu      sync.Mutex
	started map[string]event.Receipt
	bodies  map[string][]byte
	// before runs before each start; its error is the start's.
	before func(event.Receipt) error
	// during gets the context of each start.
	during func(context.Context)
}

func newFakeStarter() *fakeStarter {
	return &fakeStarter{started: map[string]event.Receipt{}, bodies: map[string][]byte{}}
}

func (f *fakeStarter) Start(ctx context.Context, r event.Receipt, body []byte, _ bool) (runs.Started, error) {
	if f.during != nil {
		f.during(ctx)
	}
	if f.before != nil {
		if err := f.before(r); err != nil {
			return runs.Started{}, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if earlier, ok := f.started[r.WorkflowID()]; ok {
		return runs.Started{
			WorkflowID: r.WorkflowID(), EventID: earlier.ID, State: runs.StateProcessed, Outcome: event.OutcomeProcessed,
			Fingerprint: earlier.Fingerprint, Conflict: r.ConflictWith(earlier.ID, earlier.Fingerprint),
		}, nil
	}
	f.started[r.WorkflowID()], f.bodies[r.WorkflowID()] = r, body
	return runs.Started{WorkflowID: r.WorkflowID(), EventID: r.ID, State: runs.StateAccepted, Fingerprint: r.Fingerprint}, nil
}

// receipts returns a provider's receipts, in no particular order.
func (f *fakeStarter) receipts(provider string) (all []event.Receipt) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.started {
		if r.Provider == provider {
			all = append(all, r)
		}
	}
	return all
}

// door is a listening server.
type door struct {
	*fakeStarter
	url       string
	server    *Server
	catalogue *providers.Catalogue
}

func newIntake(t testing.TB, o intake.Options) *intake.Intake {
	t.Helper()
	return intake.New(o)
}

// openDoor serves the catalogue and, if given, the test's own definition, named homemade.
func openDoor(t *testing.T, definition string, change ...func(*Options, *intake.Options)) *door {
	t.Helper()
	dir := t.TempDir()
	if definition != "" {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "homemade.yaml"), []byte(definition), 0o644))
	}
	catalogue, err := providers.Load(dir)
	require.NoError(t, err)
	d := &door{
		fakeStarter: newFakeStarter(),
		catalogue:   catalogue.WithSecrets(func(string) []string { return []string{secret} }),
	}
	in := intake.Options{
		Starter: d.fakeStarter, Breaker: intake.NewBreaker(100),
		CommitTimeout: 3 * time.Second, StartTimeout: 2 * time.Second, AckBudget: time.Second,
	}
	options := Options{
		Catalogue:     d.catalogue,
		HeaderTimeout: 5 * time.Second, BodyTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second, IdleTimeout: time.Minute,
		BodyLimit: 256 << 10, MaxConns: 1000,
	}
	for _, f := range change {
		f(&options, &in)
	}
	options.Intake = newIntake(t, in)
	server, err := New(options)
	require.NoError(t, err)
	d.server = server
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	d.url = "http://" + listener.Addr().String()
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		require.NoError(t, server.Shutdown(context.Background()))
		require.NoError(t, <-served)
	})
	return d
}

// reply is the answer that a sender gets.
type reply struct {
	status int
	header http.Header
	raw    string
	acknowledgement

	Error refusalError `json:"error"`
}

// deliver posts a body, signed as the provider would unless sign is false.
func (d *door) deliver(t *testing.T, provider, path, body string, sign bool, header ...string) reply {
	t.Helper()
	p, ok := d.catalogue.Lookup(provider)
	require.True(t, ok, provider)
	r := &auth.Request{Method: "POST", Path: path, Body: []byte(body), Header: map[string][]string{
		"content-type": {"application/json"},
	}}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header[header[i]] = []string{header[i+1]}
	}
	if sign {
		require.NoError(t, p.Sign(r, secret, time.Now()))
	}
	return d.post(t, r)
}

func (d *door) post(t *testing.T, r *auth.Request) reply {
	t.Helper()
	target := d.url + r.Path
	separator := "?"
	for name, values := range r.Query {
		target += separator + name + "=" + values[0]
		separator = "&"
	}
	request, err := http.NewRequestWithContext(t.Context(), r.Method, target, bytes.NewReader(r.Body))
	require.NoError(t, err)
	for name, values := range r.Header {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	response, err := (&http.Client{Timeout: 10 * time.Second}).Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	got := reply{status: response.StatusCode, header: response.Header, raw: string(text)}
	if json.Valid(text) {
		require.NoError(t, json.Unmarshal(text, &got))
	}
	return got
}

const note = `{"type":"note.written","timestamp":"2026-01-01T00:00:00Z","data":{"id":"note_1"}}`

// The answers that the architecture specifies, each with its exact body.
func TestAnswers(t *testing.T) {
	t.Parallel()
	d := openDoor(t, "")
	first := d.deliver(t, "standard-webhooks", "/webhooks/standard-webhooks", note, true, "webhook-id", "msg_1", "x-request-id", "r-1")
	require.Equal(t, 202, first.status)
	require.JSONEq(t, `{"ok":true,"queued":true,"request_id":"r-1","duration_ms":`+number(t, first.raw, "duration_ms")+`,
		"events":[{"workflow_id":"standard-webhooks:msg_1","event_id":"`+first.Events[0].EventID+`",
		"event_hash":"4c5ad3fb3752","status":"accepted"}]}`, first.raw)
	require.Equal(t, "r-1", first.header.Get("X-Request-Id"))
	require.Equal(t, "r-1", first.header.Get("X-Correlation-Id"))

	again := d.deliver(t, "standard-webhooks", "/webhooks/standard-webhooks", note, true, "webhook-id", "msg_1", "x-request-id", "r-2")
	require.Equal(t, 200, again.status)
	require.JSONEq(t, `{"ok":true,"queued":true,"duplicate":true,"request_id":"r-2","duration_ms":`+number(t, again.raw, "duration_ms")+`,
		"events":[{"workflow_id":"standard-webhooks:msg_1","event_id":"`+first.Events[0].EventID+`",
		"event_hash":"4c5ad3fb3752","status":"processed","outcome":"processed"}]}`, again.raw)

	refused := d.deliver(t, "standard-webhooks", "/webhooks/standard-webhooks", note, false, "x-request-id", "r-3")
	require.Equal(t, 401, refused.status)
	require.JSONEq(t, `{"error":{"code":"unauthenticated","message":"the request could not be authenticated","request_id":"r-3"}}`,
		refused.raw)

	d.before = func(event.Receipt) error { return errors.New("CANARY of an internal error") }
	unavailable := d.deliver(t, "standard-webhooks", "/webhooks/standard-webhooks", note, true, "webhook-id", "msg_2",
		"x-request-id", "r-unavailable")
	require.Equal(t, 503, unavailable.status)
	require.Equal(t, codeUnavailable, unavailable.Error.Code)
	require.Equal(t, "5", unavailable.header.Get("Retry-After"))
	require.NotContains(t, unavailable.raw, "CANARY")
	require.Equal(t, 1, logged.count("r-unavailable"), "one line an outcome")
	require.Contains(t, logged.line("r-unavailable"), `CANARY of an internal error`)
}

// number returns a number from an answer that varies.
func number(t *testing.T, raw, field string) string {
	t.Helper()
	var all map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(raw), &all))
	require.NotEmpty(t, all[field])
	return string(all[field])
}

// Every code has a status and a message for its reader.
func TestEveryRefusalIsExplained(t *testing.T) {
	t.Parallel()
	for _, c := range []code{
		codeMethodNotAllowed, codeNotFound, codeUnknownProvider, codeRateLimited, codeTooLarge, codeEncoding, codeUnauthenticated,
		codeBadRequest, codeInvalid, codeEventType, codeTimeout, codeHeadersTooLarge, codeBodyMemory, codeUnavailable,
		codeInternal,
	} {
		require.GreaterOrEqual(t, refusals[c].status, 400, c)
		require.NotEmpty(t, refusals[c].message, c)
	}
	require.Len(t, refusals, 15, "a code that is not in this list")
}

// A panic while an event is started is answered like any other failure, and the server survives.
func TestAPanicIsOneRequestsOwn(t *testing.T) {
	t.Parallel()
	d := openDoor(t, "")
	d.before = func(r event.Receipt) error {
		if r.Key == "msg_bad" {
			panic(canary)
		}
		return nil
	}
	bad := d.deliver(t, "standard-webhooks", "/webhooks/standard-webhooks", note, true, "webhook-id", "msg_bad")
	require.Equal(t, 503, bad.status)
	require.NotContains(t, bad.raw, canary)
	good := d.deliver(t, "standard-webhooks", "/webhooks/standard-webhooks", note, true, "webhook-id", "msg_good")
	require.Equal(t, 202, good.status)
}

// Hundreds of different bodies, sent concurrently over reused connections:
//   - each event has its own bytes, because no memory of Fiber's outlives a request
func TestBodiesAreCopied(t *testing.T) {
	t.Parallel()
	d := openDoor(t, "")
	var senders sync.WaitGroup
	for n := range 8 {
		senders.Go(func() {
			for k := range 40 {
				id := "msg_" + string(rune('a'+n)) + "_" + string(rune('A'+k))
				d.deliver(t, "standard-webhooks", "/webhooks/standard-webhooks", `{"type":"note","data":{"id":"`+id+`"}}`, true,
					"webhook-id", id)
			}
		})
	}
	senders.Wait()
	require.Len(t, d.receipts("standard-webhooks"), 8*40)
	for _, r := range d.receipts("standard-webhooks") {
		if r.KeyFrom == event.KeyFromEvent && r.Headers["webhook-id"] != "" {
			require.Contains(t, string(d.bodies[r.WorkflowID()]), `"`+r.Headers["webhook-id"]+`"`)
		}
	}
}

// A request ID that could forge a log line is rejected.
func TestRequestIDsAreSafe(t *testing.T) {
	t.Parallel()
	d := openDoor(t, "")
	for _, hostile := range []string{"", "with space", `with"quote`, string(make([]byte, 200)), "\u00e9"} {
		request := &auth.Request{Method: "POST", Path: "/nowhere", Header: map[string][]string{}}
		if hostile != "" && hostile[0] != 0 {
			request.Header["x-request-id"] = []string{hostile}
		}
		got := d.post(t, request)
		require.Len(t, got.Error.RequestID, 36, "%q", hostile)
	}
}

// Some events of a batch can't be started: the whole request fails, and the started ones are duplicates at the retry.
func TestABatchIsAllOrNothing(t *testing.T) {
	t.Parallel()
	d := openDoor(t, "")
	const body = `{"events":[{"id":"EV1","resource_type":"payments","action":"confirmed","links":{"payment":"PM1"}},` +
		`{"id":"EV2","resource_type":"payments","action":"confirmed","links":{"payment":"PM2"}}],"meta":{"webhook_id":"WB1"}}`
	var back atomic.Bool // a start that its request no longer waits for may still be in flight
	d.before = func(r event.Receipt) error {
		if r.Key == "EV2" && !back.Load() {
			return errors.New("away")
		}
		return nil
	}
	require.Equal(t, 503, d.deliver(t, "gocardless", "/webhooks/gocardless", body, true).status)
	back.Store(true)
	again := d.deliver(t, "gocardless", "/webhooks/gocardless", body, true)
	require.Equal(t, 200, again.status)
	// EV1 may have started before EV2 failed, or not: a failed batch cancels the starts that haven't begun.
	require.Equal(t, 2, again.Counts.Accepted+again.Counts.Duplicate)
	require.Len(t, d.receipts("gocardless"), 2)
}

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.NewJSONHandler(logged, nil)))
	otel.SetTracerProvider(trace.NewTracerProvider(trace.WithSpanProcessor(traced)))
	os.Exit(m.Run())
}

// traced has the spans of all tests of this package.
var traced = tracetest.NewSpanRecorder()

// logged has the server's log of all tests of this package.
var logged = &recorder{}

type recorder struct {
	mu    sync.Mutex
	lines strings.Builder
}

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lines.Write(p)
}

func (r *recorder) has(text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Contains(r.lines.String(), text)
}

// count returns how many lines contain the text.
func (r *recorder) count(text string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for line := range strings.Lines(r.lines.String()) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// line returns the first line that contains the text.
func (r *recorder) line(text string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for line := range strings.Lines(r.lines.String()) {
		if strings.Contains(line, text) {
			return line
		}
	}
	return ""
}

// canary is the value of the tests' panics, which stands for a piece of a payload.
const canary = "CANARY-OF-A-PANIC"
