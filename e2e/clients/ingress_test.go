package clients

import (
	"context"
	"crypto/ecdsa"
	"encoding/base64"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/ingress"
	"holdfast/ingress/intake"
	"holdfast/providers"
	"holdfast/providers/auth"
	"holdfast/providers/auth/jws"
	"holdfast/workflows/runs"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}

// publicURL is the ingress's URL for senders. Some schemes sign it.
const publicURL = "https://hooks.example.com"

// door is the ingress with the same secrets for all, in this process. Behind it nothing is processed: what gets in is noted.
type door struct {
	address   string
	catalogue *providers.Catalogue

	mu sync.Mutex
	in map[string]string // bodies by workflow ID
}

// Start notes an event in place of Temporal.
func (d *door) Start(_ context.Context, r event.Receipt, body []byte, _ bool) (runs.Started, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	state := runs.StateAccepted
	if _, known := d.in[r.WorkflowID()]; known {
		state = runs.StateProcessing
	}
	d.in[r.WorkflowID()] = string(body)
	return runs.Started{WorkflowID: r.WorkflowID(), EventID: r.ID, State: state, Fingerprint: r.Fingerprint}, nil
}

func (d *door) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.in)
}

func catalogueWith(t *testing.T, secrets ...string) *providers.Catalogue {
	t.Helper()
	catalogue, err := providers.Load("")
	require.NoError(t, err)
	return catalogue.WithSecrets(func(string) []string { return secrets })
}

// trialKeys is the set of keys with which Holdfast signs in place of senders, as they would publish it.
func trialKeys(t *testing.T) map[string]any {
	t.Helper()
	found, err := auth.TrialKeySets(jws.Set{URL: publicURL}, "")
	require.NoError(t, err)
	var keys []map[string]string
	for _, key := range found {
		public, ok := key.Public.(*ecdsa.PublicKey)
		if !ok {
			continue
		}
		point, err := public.Bytes()
		require.NoError(t, err)
		x, y := point[1:1+len(point)/2], point[1+len(point)/2:]
		encode := base64.RawURLEncoding.EncodeToString
		keys = append(keys, map[string]string{
			"kty": "EC", "kid": key.ID, "alg": key.Algorithm, "crv": public.Params().Name, "x": encode(x), "y": encode(y),
		})
	}
	return map[string]any{"keys": slices.DeleteFunc(keys, func(k map[string]string) bool { return k["alg"] != jws.ES512 })}
}

// publishing returns the catalogue with the keys that a library's sender publishes.
func (l library) publishing(t *testing.T, c *providers.Catalogue) *providers.Catalogue {
	t.Helper()
	if l.Keys == nil {
		return c
	}
	keys, _, err := jws.ParseKeys(l.Keys)
	require.NoError(t, err)
	return c.WithKeySets(func(jws.Set, string) ([]jws.Key, error) { return keys, nil })
}

func (l library) openDoor(t *testing.T, secrets ...string) *door {
	t.Helper()
	d := &door{catalogue: l.publishing(t, catalogueWith(t, secrets...)), in: map[string]string{}}
	in := intake.New(intake.Options{
		Starter: d, CommitTimeout: time.Minute, StartTimeout: time.Minute, AckBudget: time.Minute, Breaker: intake.NewBreaker(100),
	})
	server, err := ingress.New(ingress.Options{
		Catalogue: d.catalogue, Intake: in, PublicURL: publicURL, BodyLimit: 1 << 20, MaxConns: 100,
		HeaderTimeout: time.Minute, BodyTimeout: time.Minute, WriteTimeout: time.Minute, IdleTimeout: time.Minute,
	})
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	d.address = "http://" + listener.Addr().String()
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		require.NoError(t, server.Shutdown(context.Background()))
		require.NoError(t, <-served)
	})
	return d
}

// post sends a request as its sender would, and gives the status of the answer.
func (d *door) post(t *testing.T, r request) (status int, answer string) {
	t.Helper()
	target := d.address + strings.TrimPrefix(r.URL, publicURL)
	sent, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target, strings.NewReader(r.Body))
	require.NoError(t, err)
	for name, value := range r.Headers {
		sent.Header.Set(name, value)
	}
	got, err := http.DefaultClient.Do(sent)
	require.NoError(t, err)
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	require.NoError(t, err)
	return got.StatusCode, string(text)
}

// sampleOf is an unsigned event of the type.
func sampleOf(t *testing.T, p *providers.Provider, eventType, id string) request {
	t.Helper()
	r, err := p.Sample(eventType, id, time.Now())
	require.NoError(t, err)
	r.URL = publicURL + r.Path
	return outside(r)
}

// outside is a request as it is sent.
func outside(r *auth.Request) request {
	headers := map[string]string{}
	for name, values := range r.Header {
		headers[name] = values[0]
	}
	return request{URL: r.URL, Headers: headers, Body: string(r.Body)}
}

// inside is a request as the engine reads it.
func inside(t *testing.T, r request) *auth.Request {
	t.Helper()
	u, err := url.Parse(r.URL)
	require.NoError(t, err)
	got := &auth.Request{Method: http.MethodPost, Path: u.EscapedPath(), Query: u.Query(), Body: []byte(r.Body), URL: r.URL}
	for name, value := range r.Headers {
		got.SetHeader(name, value)
	}
	return got
}
