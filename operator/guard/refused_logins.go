package guard

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"holdfast/event/oversight"
	"holdfast/operator/httpapi"
)

const (
	// refusedPause is the least time between two audit entries of refused logins, and maxRefusedFrom how many addresses an entry
	// names.
	refusedPause   = time.Minute
	maxRefusedFrom = 5
)

// refusedLogins writes refused logins to the audit log: the first one immediately, then their number at most once a minute.
// Entries contain nothing that was submitted.
type refusedLogins struct {
	write func(oversight.AuditEntry)
	pause time.Duration

	mu      sync.Mutex
	count   int
	from    []string
	isQuiet bool
}

func (r *refusedLogins) add(address string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	if len(r.from) < maxRefusedFrom && !slices.Contains(r.from, address) {
		r.from = append(r.from, address)
	}
	if !r.isQuiet {
		r.flush()
	}
}

// flush writes an entry and then pauses.
func (r *refusedLogins) flush() {
	e := refusedEntry(r.count, r.from)
	r.count, r.from, r.isQuiet = 0, nil, true
	go r.write(e)
	time.AfterFunc(r.pause, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.isQuiet = false; r.count > 0 {
			r.flush()
		}
	})
}

func refusedEntry(n int, from []string) oversight.AuditEntry {
	detail, err := json.Marshal(map[string]any{"times": n, "addresses": from})
	if err != nil {
		detail = nil // marshaling numbers and addresses never fails
	}
	return oversight.Actor{Name: "nobody"}.Did(oversight.AuditLoginRefused, "console", detail)
}

// newRefusedLogins writes to a store that may be down; the log has the logins, too.
func newRefusedLogins(store SessionStore) *refusedLogins {
	return &refusedLogins{pause: refusedPause, write: func(e oversight.AuditEntry) {
		ctx, cancel := context.WithTimeout(context.Background(), httpapi.Timeout)
		defer cancel()
		_ = store.Audit(ctx, e)
	}}
}
