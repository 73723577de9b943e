package soak

import (
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync/atomic"
	"testing"
)

// endpoint is a customer's: it records each attempt, and refuses some, so that deliveries are retried.
type endpoint struct {
	*httptest.Server

	refuses atomic.Bool
	history atomic.Pointer[history] // of the current round
}

// share of the attempts that the endpoint refuses while it is healthy, in percent.
const refusedAttempts = 15

func newEndpoint(t *testing.T) *endpoint {
	e := &endpoint{}
	e.Server = httptest.NewServer(http.HandlerFunc(e.serve))
	t.Cleanup(e.Close)
	return e
}

var fieldOfBody = regexp.MustCompile(`"field":"([^"]+)"`)

func (e *endpoint) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	field := fieldOfBody.FindSubmatch(body)
	h := e.history.Load()
	if err != nil || field == nil || h == nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	key, generation := parseRevision(string(field[1]))
	end := h.begin(call{key, deliver, generation})
	confirmed := !e.refuses.Load() && rand.IntN(100) >= refusedAttempts
	if !confirmed {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	end(outcome{
		Answer: acknowledged, EventID: r.Header.Get("holdfast-event-id"), WebhookID: r.Header.Get("webhook-id"), Confirmed: confirmed,
	})
}
