package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/lint"
	"holdfast/providers"
	"holdfast/providers/auth"
)

const secretOfTests = "whsec_aG9sZGZhc3QgdGVzdCBzZWNyZXQgMDEyMzQ1Njc4OQ=="

// run runs the program and returns its standard output.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return runUntil(t.Context(), args...)
}

func runUntil(ctx context.Context, args ...string) (string, error) {
	var out bytes.Buffer
	root := rootCommand()
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&bytes.Buffer{})
	err := root.ExecuteContext(ctx)
	return out.String(), err
}

// endpoint authenticates requests like an ingress, and reports duplicates.
type endpoint struct {
	*httptest.Server
	catalogue *providers.Catalogue

	mu   sync.Mutex
	keys map[string]int
}

func newEndpoint(t *testing.T, secret string) *endpoint {
	t.Helper()
	catalogue, err := providers.Load("")
	require.NoError(t, err)
	e := &endpoint{catalogue: catalogue.WithSecrets(func(string) []string { return []string{secret} }), keys: map[string]int{}}
	e.Server = httptest.NewServer(http.HandlerFunc(e.receive))
	t.Cleanup(e.Close)
	return e
}

func (e *endpoint) receive(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	p, params, ok := e.catalogue.ByPath(r.URL.EscapedPath())
	if !ok {
		http.NotFound(w, r)
		return
	}
	got := &auth.Request{
		Method: r.Method, Path: r.URL.EscapedPath(), PathParams: params, Query: r.URL.Query(), Body: body,
		Header: map[string][]string{}, URL: e.URL + r.URL.RequestURI(), RemoteIP: netip.MustParseAddr("192.0.2.7"),
	}
	for name, values := range r.Header {
		got.Header[strings.ToLower(name)] = values
	}
	explained := lint.Explain(p, got, time.Now())
	if explained.Refused != "" {
		w.WriteHeader(explained.Status)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	var events []string
	for _, one := range explained.Events {
		status := "accepted"
		if e.keys[one.WorkflowID]++; e.keys[one.WorkflowID] > 1 {
			status = "processed"
		}
		events = append(events, fmt.Sprintf(`{"workflow_id":%q,"event_id":"0","status":%q}`, one.WorkflowID, status))
	}
	w.WriteHeader(http.StatusAccepted)
	fmt.Fprintf(w, `{"ok":true,"events":[%s]}`, strings.Join(events, ","))
}
