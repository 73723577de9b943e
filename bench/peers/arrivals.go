package peers

import (
	"errors"
	"io"
	"net"
	"net/http"
	"regexp"
	"sync"
	"time"
)

// idPattern finds the ID of the event in a delivered body, whatever is around it.
var idPattern = regexp.MustCompile(`evt_[0-9A-Za-z_]+`)

// maxDelivery bounds the bytes read of a request.
const maxDelivery = 1 << 20

// arrivals is an HTTP server that accepts every delivery and records when which event arrived.
type arrivals struct {
	url    string
	server *http.Server

	mu    sync.Mutex
	seen  map[string]arrival
	total int64
	last  time.Time
}

// arrival is the first arrival of an event, and the number of its arrivals.
type arrival struct {
	first time.Time
	count int
}

func listen() (*arrivals, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	a := &arrivals{url: "http://" + listener.Addr().String(), seen: map[string]arrival{}}
	a.server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(
		func(_ http.ResponseWriter, r *http.Request) {
			now := time.Now()
			body, _ := io.ReadAll(io.LimitReader(r.Body, maxDelivery))
			if id := idPattern.Find(body); id != nil { // some systems first check that the endpoint answers
				a.record(string(id), now)
			}
		})}
	go func() { _ = a.server.Serve(listener) }()
	return a, nil
}

func (a *arrivals) record(id string, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	one, again := a.seen[id]
	if !again {
		one.first = at
	}
	one.count++
	a.seen[id] = one
	a.total++
	a.last = at
}

// reset forgets all arrivals.
func (a *arrivals) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen, a.total, a.last = map[string]arrival{}, 0, time.Time{}
}

// count returns the number of arrivals, of different events among them, and the time of the last one.
func (a *arrivals) count() (total, events int64, last time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.total, int64(len(a.seen)), a.last
}

// compare compares what was acknowledged with what has arrived.
func (a *arrivals) compare(s *sent) outcome {
	a.mu.Lock()
	defer a.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	return compare(s.acked, a.seen)
}

func (a *arrivals) close() error {
	if err := a.server.Close(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
