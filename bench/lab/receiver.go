package lab

import (
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// Receiver is an endpoint that takes every delivery and notes when it came.
type Receiver struct {
	// URL takes what is sent at once.
	URL string

	server *http.Server
	mu     sync.Mutex
	n      int64
	last   time.Time
	at     map[string]time.Time // by event; nil while nobody wants it
	more   chan struct{}
}

// maxDelivery bounds what the receiver reads of a request.
const maxDelivery = 2 << 20

// NewReceiver starts a receiver on loopback that answers after a pause.
func NewReceiver(pause time.Duration) (*Receiver, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &Receiver{URL: "http://" + listener.Addr().String(), more: make(chan struct{}, 1)}
	r.server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(
		func(_ http.ResponseWriter, request *http.Request) {
			now := time.Now()
			_, _ = io.Copy(io.Discard, io.LimitReader(request.Body, maxDelivery))
			if pause > 0 {
				select {
				case <-time.After(pause):
				case <-request.Context().Done():
				}
			}
			r.note(request.Header.Get("holdfast-event-id"), now)
		})}
	go func() { _ = r.server.Serve(listener) }()
	return r, nil
}

func (r *Receiver) note(id string, at time.Time) {
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

// Count is how many requests have come, and when the last one did.
func (r *Receiver) Count() (n int64, last time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n, r.last
}

// Remember makes the receiver note from now on when each event came first, and gives what it has noted until now.
func (r *Receiver) Remember() map[string]time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	noted := r.at
	r.at = map[string]time.Time{}
	return noted
}

// More gives a value once something has come since the last look.
func (r *Receiver) More() <-chan struct{} { return r.more }

// Close stops it.
func (r *Receiver) Close() error {
	if err := r.server.Close(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
