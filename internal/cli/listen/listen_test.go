package listen

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/feed"
	"holdfast/internal/cli"
	"holdfast/providers"
	"holdfast/providers/auth"
)

const secret = "whsec_c2lnbmluZyBrZXkgb2YgdGhlIHRlc3Rz"

func stripe(t *testing.T) *providers.Provider {
	t.Helper()
	catalogue, err := providers.Load("")
	require.NoError(t, err)
	p, ok := catalogue.Lookup("stripe")
	require.True(t, ok)
	return p
}

// seen is a request received by the developer's server.
type seen struct {
	method, target string
	header         http.Header
	body           []byte
}

// developer starts a server that records requests.
func developer(t *testing.T, status int) (url string, came chan seen) {
	t.Helper()
	came = make(chan seen, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		came <- seen{r.Method, r.URL.String(), r.Header, body}
		w.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	return server.URL, came
}

func someEvent() sent {
	return sent{
		Receipt: event.Receipt{
			ID: "e1", Provider: "stripe", Headers: map[string]string{"content-type": "application/json; charset=utf-8",
				"x-kept": "1", "host": "other.example", "content-length": "7"}, Query: map[string]string{"q": "a b"},
		},
		Type: "customer.updated", Body: []byte("{\"n\": 1.10,\n \"big\": 12345678901234567890}"),
	}
}

// A forwarded request has the original bytes and headers, without the original connection's headers.
func TestAnEventIsForwardedAsItCame(t *testing.T) {
	t.Parallel()
	url, came := developer(t, http.StatusTeapot)
	f := &forwarder{to: url + "/hooks?own=1", client: cli.NewHTTPClient()}
	status, err := f.forward(t.Context(), someEvent())
	require.NoError(t, err)
	require.Equal(t, http.StatusTeapot, status)
	got := <-came
	require.Equal(t, "POST", got.method)
	require.Equal(t, "/hooks?own=1&q=a+b", got.target)
	require.Equal(t, someEvent().Body, got.body)
	require.Equal(t, "application/json; charset=utf-8", got.header.Get("Content-Type"))
	require.Equal(t, "1", got.header.Get("X-Kept"))
	require.Equal(t, "e1", got.header.Get(eventHeader))
	require.Empty(t, got.header.Get("Stripe-Signature"))
}

func TestAnEventIsSignedAsItsProviderDoes(t *testing.T) {
	t.Parallel()
	p := stripe(t)
	url, came := developer(t, http.StatusOK)
	f := &forwarder{to: url, secret: secret, client: cli.NewHTTPClient(), lookup: func(name string) (*providers.Provider, bool) {
		return p, name == "stripe"
	}}
	_, err := f.forward(t.Context(), someEvent())
	require.NoError(t, err)
	got := <-came
	header := map[string][]string{}
	for name, values := range got.header {
		header[strings.ToLower(name)] = values
	}
	checked := p.WithSecrets(func(string) []string { return []string{secret} })
	require.NoError(t, checked.Authenticate(&auth.Request{Method: "POST", Header: header, Body: got.body}, time.Now()))

	other := someEvent()
	other.Provider = "nobody"
	_, err = f.forward(t.Context(), other)
	require.ErrorContains(t, err, "no definition of nobody")
}

// holdfast responds like the operator API.
type holdfast struct {
	*httptest.Server

	mu      sync.Mutex
	streams [][]string // what each stream sends before it ends; "" responds with 410
	places  []string   // positions that streams were requested from
	role    string
}

func newHoldfast(t *testing.T, streams ...[]string) *holdfast {
	t.Helper()
	h := &holdfast{streams: streams}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /changes", h.change)
	mux.HandleFunc("GET /events/{id}", func(w http.ResponseWriter, r *http.Request) {
		body := []byte(`{"id":"` + r.PathValue("id") + `"}`)
		content := map[string]any{"size": len(body), "raw": body}
		if h.role == "viewer" {
			content = map[string]any{"size": len(body), "redacted": true}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"type": "thing", "receipt": event.Receipt{ID: r.PathValue("id"), Provider: "acme"}, "body": content,
		})
	})
	h.Server = httptest.NewServer(mux)
	t.Cleanup(h.Close)
	return h
}

func (h *holdfast) change(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.places = append(h.places, r.URL.Query().Get("after"))
	if len(h.streams) == 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	next := h.streams[0]
	h.streams = h.streams[1:]
	if next == nil {
		w.WriteHeader(http.StatusGone)
		return
	}
	for _, line := range next {
		_, _ = fmt.Fprintln(w, line)
	}
}

func (h *holdfast) asked() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.places
}

func processed(place, id string) []string {
	return []string{"id: " + place, `data: {"subject":"event","action":"processed","provider":"acme","id":"` + id + `"}`, ""}
}

func lines(all ...[]string) (joined []string) {
	for _, some := range all {
		joined = append(joined, some...)
	}
	return joined
}

// A listener resumes from its last event when the stream ends, from the gap when events were skipped, and from now when the feed
// was reset.
func TestAListenerContinuesAfterALostConnection(t *testing.T) {
	t.Parallel()
	h := newHoldfast(t,
		lines([]string{"retry: 1000", ":", ""}, processed("p1", "a"), []string{"id: p2", ":", ""}),
		lines(processed("p3", "b"), []string{"event: skipped", `data: {"skipped":2,"after":"p3"}`, ""}),
		lines(processed("p4", "c"), []string{"event: resync", `data: {"resync":"anew"}`, ""}),
		nil,
		processed("p9", "d"),
	)
	url, came := developer(t, http.StatusOK)
	out := &bytes.Buffer{}
	l := &listener{
		out: out, prints: true, api: &cli.API{URL: h.URL, Client: cli.NewHTTPClient()}, after: "1h", filter: feed.Filter{Subject: feed.Event},
		forwarder: &forwarder{to: url, client: cli.NewHTTPClient()},
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.run(ctx) }()
	for _, id := range []string{"a", "b", "c", "d"} {
		require.JSONEq(t, `{"id":"`+id+`"}`, string((<-came).body))
	}
	require.Eventually(t, func() bool { return len(h.asked()) > 5 }, time.Minute, time.Millisecond)
	l.readCommands(ctx, strings.NewReader("x\nr\n"))
	require.JSONEq(t, `{"id":"d"}`, string((<-came).body))
	cancel()
	require.NoError(t, <-ended)
	require.Equal(t, []string{"1h", "p2", "p3", "now", "now", "p9"}, h.asked()[:6])
	require.Contains(t, out.String(), "acme thing d -> 200 OK in ")
	require.Contains(t, out.String(), "again acme thing d")
	require.Contains(t, out.String(), "\"id\": \"a\"")
}

// An event that fails before it is processed is forwarded too, and only once, even if it is replayed later.
func TestAListenerForwardsDeadEvents(t *testing.T) {
	t.Parallel()
	died := func(place, id, action, more string) []string {
		return []string{"id: " + place, `data: {"subject":"dead_letter","action":"` + action + `","provider":"acme","id":"7","event_id":"` + id + `"` + more + `}`, ""}
	}
	h := newHoldfast(t, lines(
		died("p1", "a", "opened", ""), died("p2", "b", "opened", `,"subscription_id":3`), died("p3", "a", "failed", ""),
		processed("p4", "a"), processed("p5", "c"),
	))
	url, came := developer(t, http.StatusOK)
	out := &bytes.Buffer{}
	l := &listener{
		out: out, api: &cli.API{URL: h.URL, Client: cli.NewHTTPClient()}, after: "now",
		forwarder: &forwarder{to: url, client: cli.NewHTTPClient()},
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.run(ctx) }()
	for _, id := range []string{"a", "c"} {
		require.JSONEq(t, `{"id":"`+id+`"}`, string((<-came).body))
	}
	cancel()
	require.NoError(t, <-ended)
	require.Contains(t, out.String(), "failed: acme thing a -> 200 OK")
}

func TestAListenerWithoutTheRightTokenSaysSo(t *testing.T) {
	t.Parallel()
	h := newHoldfast(t, processed("p1", "a"))
	h.role = "viewer"
	l := &listener{out: io.Discard, api: &cli.API{URL: h.URL, Client: cli.NewHTTPClient()}, after: "now"}
	require.ErrorIs(t, l.run(t.Context()), errNoBody)
}

func TestTheFlagsOfListenAreChecked(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"--forward", "localhost:3000"}, {"--print", "--operator", "x"}, {"--print", "--since", "-1h"}} {
		c := Command()
		c.SetArgs(args)
		c.SilenceErrors, c.SilenceUsage = true, true
		require.Error(t, c.ExecuteContext(t.Context()), args)
	}
}
