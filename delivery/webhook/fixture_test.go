package webhook

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
)

const (
	newestSecret = "whsec_aG9sZGZhc3QgdGVzdCBzZWNyZXQgMDEyMzQ1Njc4OQ=="
	olderSecret  = "whsec_b2xkIHNlY3JldCBvZiB0aGUgdGVzdHMgMDEyMzQ1Njc="
	eventID      = "0198c0de-0000-7000-8000-000000000001"
)

// loopback lets a sender reach the servers of tests.
var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

func newTestSender(t *testing.T, certificates ...string) *Sender {
	t.Helper()
	s := NewSender(SenderOptions{AllowedNetworks: loopback, Certificates: strings.Join(certificates, ""), Version: "1.2.3"})
	t.Cleanup(s.Close)
	return s
}

func jobOf(generation int) delivery.Job {
	return delivery.Job{Key: delivery.Key{EventID: eventID, SubscriptionID: 1}, Generation: generation}
}

func messageOf(body string) delivery.Message {
	return delivery.Message{
		Type: "customer.updated", Body: []byte(body), OccurredAt: time.Unix(1_800_000_000, 0),
		Receipt: event.Receipt{
			ID: eventID, Provider: "stripe", Key: "evt_1", ReceivedAt: time.Unix(1_800_000_000, 0),
			Headers: map[string]string{"content-type": "application/json; charset=utf-8"},
		},
	}
}

// to is a target with a secret.
func to(url string) delivery.Target {
	return delivery.Target{
		Destination: delivery.Destination{Name: "crm", HTTP: &delivery.HTTP{URL: url}}, Secrets: []string{newestSecret},
	}
}

// request is a request that the endpoint received.
type request struct {
	*http.Request

	body []byte
}

// endpoint is an endpoint that records requests and sends a configured response.
type endpoint struct {
	*httptest.Server

	got chan request
}

func newEndpoint(t *testing.T, answer http.HandlerFunc) *endpoint {
	t.Helper()
	r := &endpoint{got: make(chan request, 100)}
	r.Server = httptest.NewServer(r.handler(t, answer))
	t.Cleanup(r.Close)
	return r
}

func (r *endpoint) handler(t *testing.T, answer http.HandlerFunc) http.Handler {
	t.Helper()
	return http.HandlerFunc(func(w http.ResponseWriter, got *http.Request) {
		body, err := io.ReadAll(got.Body)
		if err != nil {
			t.Errorf("read the request: %v", err)
		}
		r.got <- request{got, body}
		if answer != nil {
			answer(w, got)
		}
	})
}

// deliver makes one attempt that has to succeed, and gives what came.
func (r *endpoint) deliver(t *testing.T, s *Sender, target delivery.Target, m delivery.Message) request {
	t.Helper()
	result := s.Send(t.Context(), target, jobOf(0), m)
	require.Equal(t, delivery.OK, result.Kind, "%s %s", result.Code, result.Error)
	require.NotEmpty(t, r.got, "another one has answered")
	return <-r.got
}
