package proxy

import (
	"sync"
	"time"
)

// restFor is how long a proxy that can't be used isn't tried again. Then one connection tries it, while others fail at once:
// those that wait for a proxy without a response would use up all slots.
const restFor = 5 * time.Second

// health remembers the last failure of a proxy.
type health struct {
	mu     sync.Mutex
	failed *Error // nil: it can be used
	until  time.Time
	// isTrying: one connection tries whether it can be used again.
	isTrying bool
}

// begin returns the last failure if the proxy isn't to be tried now. If it returns nil, the caller calls end.
func (h *health) begin(now time.Time) *Error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failed == nil {
		return nil
	}
	if h.isTrying || now.Before(h.until) {
		return h.failed
	}
	h.isTrying = true
	return nil
}

// end records how a connection to the proxy went; nil is a success. unknown leaves the state as it is.
func (h *health) end(failed *Error, unknown bool, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.isTrying = false
	if !unknown {
		h.failed, h.until = failed, now.Add(restFor)
	}
}
