package limits

import (
	"net/netip"
	"sync"
)

// smallBody is the max size, in bytes, of the bodies that a quarter of the memory is kept for: nearly every event is smaller, so
// large bodies never keep small ones out.
const smallBody = 256 << 10

// Bodies bounds the memory for the bodies of all requests. The same rule holds for all of them together and for each client,
// which gets a quarter: large bodies use at most three quarters.
type Bodies struct {
	limit int

	mu      sync.Mutex
	all     heldBytes
	clients map[netip.Addr]*heldBytes
}

type heldBytes struct{ small, large int }

// NewBodies returns an empty memory of limit bytes.
func NewBodies(limit int) *Bodies {
	return &Bodies{limit: limit, clients: map[netip.Addr]*heldBytes{}}
}

// ForClient returns the empty share of one request. A body whose declared length is large counts as large from its first byte.
func (m *Bodies) ForClient(client netip.Addr, declared int) *Share {
	return &Share{memory: m, client: networkOf(client), large: declared > smallBody}
}

// Held returns the bytes in use.
func (m *Bodies) Held() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.all.small + m.all.large
}

// change adds to what a client holds, unless that exceeds a limit; size is the size of the whole body afterwards. Nothing is
// kept of a client that holds nothing.
func (m *Bodies) change(client netip.Addr, by heldBytes, size int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	own := m.clients[client]
	if own == nil {
		own = &heldBytes{}
	}
	all, one := m.all.plus(by), own.plus(by)
	isRelease := by.small <= 0 && by.large <= 0
	if !isRelease && (!all.fit(m.limit) || !one.fit(m.limit/4)) {
		return false
	}
	if by.large > 0 && (all.large > roomFor(size, m.limit) || one.large > roomFor(size, m.limit/4)) {
		return false
	}
	if m.all = all; one == (heldBytes{}) {
		delete(m.clients, client)
		return true
	}
	*own = one
	m.clients[client] = own
	return true
}

func (h heldBytes) plus(by heldBytes) heldBytes {
	return heldBytes{h.small + by.small, h.large + by.large}
}

func (h heldBytes) fit(limit int) bool { return h.small+h.large <= limit }

// roomFor returns how much all large bodies may hold when one of them grows to size: half of their memory, and more the further
// it has come. Otherwise many senders that try again would push each other out, and none would finish.
func roomFor(size, limit int) int {
	room := limit - limit/4
	return min(room, room/2+4*size)
}

// Share counts the memory that one request holds. It isn't safe for concurrent use.
type Share struct {
	memory *Bodies
	client netip.Addr
	large  bool
	bytes  int
}

// Reserve adds n bytes, and reports whether they fit. Call it before the bytes are allocated. A body that turns out to be large
// counts as large as a whole. A share that is nil, of a request without a body, has no room.
func (s *Share) Reserve(n int) bool {
	if s == nil {
		return false
	}
	by, large := heldBytes{small: n}, s.large || s.bytes+n > smallBody
	switch {
	case large && !s.large:
		by = heldBytes{small: -s.bytes, large: s.bytes + n}
	case large:
		by = heldBytes{large: n}
	}
	if !s.memory.change(s.client, by, s.bytes+n) {
		return false
	}
	s.large, s.bytes = large, s.bytes+n
	return true
}

// Bytes returns what the share holds.
func (s *Share) Bytes() int { return s.bytes }

// Release returns all bytes of the share, which may be nil.
func (s *Share) Release() {
	if s == nil || s.bytes == 0 {
		return
	}
	by := heldBytes{small: -s.bytes}
	if s.large {
		by = heldBytes{large: -s.bytes}
	}
	s.memory.change(s.client, by, 0)
	s.bytes = 0
}
