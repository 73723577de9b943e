package client

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// publicPort responds to the nth request with the nth handler, and to further ones with the last.
type publicPort struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
}

func newPublicPort(t *testing.T, handlers ...http.HandlerFunc) *publicPort {
	t.Helper()
	p := &publicPort{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/events" || r.Header.Get("Authorization") != "Bearer token" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		p.mu.Lock()
		handler := handlers[min(len(p.bodies), len(handlers)-1)]
		p.bodies = append(p.bodies, string(body))
		p.mu.Unlock()
		handler(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *publicPort) publisher() Publisher {
	return Publisher{URL: p.URL, Token: "token", Source: "shop"}
}

// seen returns the bodies of the requests.
func (p *publicPort) seen() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bodies
}

func respond(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// cut ends the connection without a response.
func cut(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

const (
	accepted = `{"ok":true,"request_id":"req_1","events":[{"workflow_id":"events:shop:evt_1","event_id":"01a2","status":"accepted"}]}`
	refused  = `{"error":{"code":"bad","message":"not this one","request_id":"req_2"}}`
)

var paid = Event{ID: "evt_1", Type: "order.paid", Data: map[string]string{"id": "o1"}}

func TestRetriesSendTheSameBytes(t *testing.T) {
	t.Parallel()
	p := newPublicPort(t, cut, respond(503, refused), respond(202, accepted))
	receipt, err := p.publisher().Publish(t.Context(), paid)
	require.NoError(t, err)
	require.Equal(t, Receipt{EventID: "01a2", WorkflowID: "events:shop:evt_1", Status: "accepted", RequestID: "req_1"}, receipt)
	const body = `{"id":"evt_1","type":"order.paid","source":"shop","data":{"id":"o1"}}`
	require.Equal(t, []string{body, body, body}, p.seen())
}

func TestOnlyPassingFailuresAreRetried(t *testing.T) {
	t.Parallel()
	for status, retryable := range map[int]bool{
		302: false, 400: false, 401: false, 404: false, 408: true, 409: false, 413: false, 422: false, 429: true, 500: true, 503: true,
	} {
		p := newPublicPort(t, respond(status, refused, "Location", "/elsewhere"), respond(202, accepted))
		publisher := p.publisher()
		publisher.RetryFor = -1
		_, err := publisher.Publish(t.Context(), paid)
		var failure *PublishError
		require.ErrorAs(t, err, &failure)
		require.Equal(t, retryable, failure.Retryable(), "%d", status)
		require.Equal(t, PublishError{
			ID: "evt_1", Attempts: 1, Status: status, Code: "bad", Message: "not this one", RequestID: "req_2",
		}, *failure)
		require.Len(t, p.seen(), 1)

		_, err = newPublicPort(t, respond(status, refused), respond(202, accepted)).publisher().Publish(t.Context(), paid)
		require.Equal(t, retryable, err == nil, "%d", status)
	}
}

// A redirect leads to a page for people, perhaps: its 200 isn't a receipt.
func TestAnHTTPClientOfTheCallerFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	page := httptest.NewServer(respond(200, "please log in"))
	t.Cleanup(page.Close)
	publisher := newPublicPort(t, respond(302, "", "Location", page.URL)).publisher()
	publisher.HTTP = &http.Client{Timeout: time.Minute}
	_, err := publisher.Publish(t.Context(), paid)
	var failure *PublishError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, http.StatusFound, failure.Status)
	require.Nil(t, publisher.HTTP.CheckRedirect, "the caller's client is as it was")
}

// The response of a check is in the receipt, or in the error.
func TestAnEventTypeIsChecked(t *testing.T) {
	t.Parallel()
	const warned = `{"events":[{"workflow_id":"w","status":"accepted","warning":"order.paid version 2: /data/id: required"}]}`
	p := newPublicPort(t, respond(202, warned))
	receipt, err := p.publisher().Publish(t.Context(), Event{ID: "1", Type: "order.paid", Version: "2", Data: 1})
	require.NoError(t, err)
	require.Equal(t, "order.paid version 2: /data/id: required", receipt.Warning)
	require.Equal(t, []string{`{"id":"1","type":"order.paid","source":"shop","version":"2","data":1}`}, p.seen())
}

func TestRetryAfterIsWaitedFor(t *testing.T) {
	t.Parallel()
	for header, pause := range map[string]time.Duration{"1": time.Second, "": 0, "soon": 0, "-1": 0} {
		p := newPublicPort(t, respond(429, refused, "Retry-After", header), respond(202, accepted))
		began := time.Now()
		_, err := p.publisher().Publish(t.Context(), paid)
		require.NoError(t, err)
		require.GreaterOrEqual(t, time.Since(began), pause)
		require.Len(t, p.seen(), 2)
	}
	now := time.Unix(1e9, 0)
	require.Equal(t, time.Minute, retryAfter(now.Add(time.Minute).UTC().Format(http.TimeFormat), now))
	require.Zero(t, retryAfter(now.Add(-time.Minute).UTC().Format(http.TimeFormat), now))
	require.Equal(t, 100*365*24*time.Hour, retryAfter("3153600000", now))
	require.Positive(t, retryAfter("99999999999999999999999", now))
}

func TestALongRetryAfterEndsTheAttempts(t *testing.T) {
	t.Parallel()
	p := newPublicPort(t, respond(503, refused, "Retry-After", "3600"))
	_, err := p.publisher().Publish(t.Context(), paid)
	var failure *PublishError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, time.Hour, failure.RetryAfter)
	require.Len(t, p.seen(), 1)
}

func TestATwoHundredIsAReceiptWhateverItsBody(t *testing.T) {
	t.Parallel()
	for _, handler := range []http.HandlerFunc{respond(200, "thanks"), respond(202, accepted[:40], "Content-Length", "500")} {
		p := newPublicPort(t, handler)
		receipt, err := p.publisher().Publish(t.Context(), paid)
		require.NoError(t, err)
		require.Zero(t, receipt)
		require.Len(t, p.seen(), 1)
	}
}

func TestTheContextEndsTheAttempts(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	p := newPublicPort(t, func(w http.ResponseWriter, r *http.Request) {
		respond(503, refused, "Retry-After", "30")(w, r)
		cancel()
	})
	_, err := p.publisher().Publish(ctx, paid)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorAs(t, err, new(*PublishError))
	require.Len(t, p.seen(), 1)
}

func TestAnEventThatCannotBeSentIsNotRetried(t *testing.T) {
	t.Parallel()
	p := newPublicPort(t, respond(202, accepted))
	for _, e := range []Event{{Type: "t"}, {ID: "1"}, {ID: "1", Type: "t", Data: func() {}}} {
		_, err := p.publisher().Publish(t.Context(), e)
		require.Error(t, err)
	}
	_, err := Publisher{URL: "not a:url", Source: "shop"}.Publish(t.Context(), paid)
	var failure *PublishError
	require.ErrorAs(t, err, &failure)
	require.False(t, failure.Retryable())
	_, err = Publisher{URL: p.URL, Source: "shop", Token: "top\nsecret"}.Publish(t.Context(), paid)
	require.ErrorAs(t, err, &failure)
	require.False(t, failure.Retryable())
	require.NotContains(t, err.Error(), "secret")
	require.Empty(t, p.seen())
}

func TestTheTimeIsSent(t *testing.T) {
	t.Parallel()
	p := newPublicPort(t, respond(202, accepted))
	_, err := p.publisher().Publish(t.Context(), Event{ID: "1", Type: "t", Time: time.Unix(1e9, 0).UTC()})
	require.NoError(t, err)
	require.Contains(t, strings.Join(p.seen(), ""), `"time":"2001-09-09T01:46:40Z"`)
}
