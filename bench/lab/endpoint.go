package lab

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// Endpoint is an HTTP endpoint that accepts every delivery and records its arrival.
type Endpoint struct {
	// URL is the endpoint's address.
	URL string
	// ByBody records events by the `id` in their body, instead of Holdfast's own ID. Set it before the first request.
	ByBody bool

	server *http.Server
	mu     sync.Mutex
	n      int64
	last   time.Time
	at     map[string]time.Time // by event; nil unless Remember was called
	more   chan struct{}
}

// maxDelivery bounds the bytes read of a request.
const maxDelivery = 2 << 20

// NewEndpoint starts an endpoint on loopback that answers after a pause.
func NewEndpoint(pause time.Duration) (*Endpoint, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &Endpoint{URL: "http://" + listener.Addr().String(), more: make(chan struct{}, 1)}
	r.server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(
		func(_ http.ResponseWriter, request *http.Request) {
			now := time.Now()
			id := r.read(request)
			if pause > 0 {
				select {
				case <-time.After(pause):
				case <-request.Context().Done():
				}
			}
			r.note(id, now)
		})}
	go func() { _ = r.server.Serve(listener) }()
	return r, nil
}

// read reads a request, and returns the event's ID.
func (r *Endpoint) read(request *http.Request) string {
	body := io.LimitReader(request.Body, maxDelivery)
	if r.ByBody {
		var e struct{ ID string }
		_ = json.NewDecoder(body).Decode(&e) // an event without an ID counts as missing
		return e.ID
	}
	_, _ = io.Copy(io.Discard, body)
	return request.Header.Get("holdfast-event-id")
}

func (r *Endpoint) note(id string, at time.Time) {
	r.mu.Lock()
	r.n++
	r.last = at
	if _, again := r.at[id]; r.at != nil && !again {
		r.at[id] = at
	}
	r.mu.Unlock()
	select {
	case r.more <- struct{}{}:
	default:
	}
}

// Count returns the number of requests, and the time of the last one.
func (r *Endpoint) Count() (n int64, last time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n, r.last
}

// Remember starts recording the first arrival of each event, and returns the previous records.
func (r *Endpoint) Remember() map[string]time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	noted := r.at
	r.at = map[string]time.Time{}
	return noted
}

// More receives a value after new requests.
func (r *Endpoint) More() <-chan struct{} { return r.more }

// Close stops the endpoint.
func (r *Endpoint) Close() error {
	if err := r.server.Close(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
