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
}

// begin returns the last failure if the proxy must not be tried now. probes: this connection tries whether it can be used again,
// and others don't for a while, even if its target never answers.
func (h *health) begin(now time.Time) (failed *Error, probes bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.failed == nil:
		return nil, false
	case now.Before(h.until):
		return h.failed, false
	}
	h.until = now.Add(restFor)
	return nil, true
}

// end records how a connection to the proxy went; nil is a success.
func (h *health) end(failed *Error, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed, h.until = failed, now.Add(restFor)
}

// giveUp records that a connection has shown nothing. If it was to probe, the next one does.
func (h *health) giveUp(probes bool, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if probes {
		h.until = now
	}
}
