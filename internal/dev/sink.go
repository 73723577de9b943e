package dev

import (
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"holdfast/event"
)

// The bounds of the sink.
const (
	sinkKeeps = 50
	sinkShows = 64 << 10 // bytes of each body
)

// sink is the sample endpoint: it verifies deliveries as a destination should, and shows the last ones.
type sink struct {
	verifier *standardwebhooks.Webhook

	mu   sync.Mutex
	last []received
}

// received is a delivery as the sink shows it.
type received struct {
	ID       string    `json:"id"`
	At       time.Time `json:"at"`
	Verified bool      `json:"verified"`
	Body     string    `json:"body"`
}

// shown is the sink's response, newest first.
type shown struct {
	Received []received `json:"received"`
}

// newSink parses a secret of the form whsec_BASE64.
func newSink(secret string) (*sink, error) {
	verifier, err := standardwebhooks.NewWebhook(secret)
	return &sink{verifier: verifier}, err
}

// ServeHTTP accepts posts with a valid signature, and shows the received ones.
func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		s.show(w)
		return
	}
	// An envelope is larger than its event.
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 2*event.MaxBody))
	if err != nil {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	got := received{
		ID: r.Header.Get("Webhook-Id"), At: time.Now().UTC(), Verified: s.verifier.Verify(body, r.Header) == nil,
		Body: string(body[:min(len(body), sinkShows)]),
	}
	s.keep(got)
	if !got.Verified {
		w.WriteHeader(http.StatusUnauthorized)
	}
}

func (s *sink) keep(r received) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last = append([]received{r}, s.last...); len(s.last) > sinkKeeps {
		s.last = s.last[:sinkKeeps]
	}
}

func (s *sink) show(w http.ResponseWriter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	_ = out.Encode(shown{s.last}) //nolint:errchkjson // the connection may be gone
}
