package access

import (
	"crypto/sha256"
	"sync"
	"time"
)

// LoginLinkTime is how long a ticket is valid.
const LoginLinkTime = 10 * time.Minute

// LoginLinks are one-time logins. A ticket is valid only in the process that made it.
type LoginLinks struct {
	mu   sync.Mutex
	good map[[sha256.Size]byte]loginLink
}

type loginLink struct {
	holder string
	until  time.Time
}

// Make makes a ticket for the holder of the named token.
func (t *LoginLinks) Make(holder string) string {
	text := newSecret()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.good == nil {
		t.good = map[[sha256.Size]byte]loginLink{}
	}
	t.good[sha256.Sum256([]byte(text))] = loginLink{holder, time.Now().Add(LoginLinkTime)}
	return text
}

// Take returns the holder of a ticket and voids the ticket.
func (t *LoginLinks) Take(text string, now time.Time) (holder string, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := sha256.Sum256([]byte(text))
	one, ok := t.good[id]
	delete(t.good, id)
	return one.holder, ok && now.Before(one.until)
}
