package access

import (
	"crypto/sha256"
	"sync"
	"time"
)

// TicketTime is how long a ticket is valid.
const TicketTime = 10 * time.Minute

// Tickets are one-time logins. A ticket is valid only in the process that made it.
type Tickets struct {
	mu   sync.Mutex
	good map[[sha256.Size]byte]ticket
}

type ticket struct {
	holder string
	until  time.Time
}

// Make makes a ticket for the holder of the named token.
func (t *Tickets) Make(holder string) string {
	text := newSecret()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.good == nil {
		t.good = map[[sha256.Size]byte]ticket{}
	}
	t.good[sha256.Sum256([]byte(text))] = ticket{holder, time.Now().Add(TicketTime)}
	return text
}

// Take returns the holder of a ticket and voids the ticket.
func (t *Tickets) Take(text string, now time.Time) (holder string, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := sha256.Sum256([]byte(text))
	one, ok := t.good[id]
	delete(t.good, id)
	return one.holder, ok && now.Before(one.until)
}
