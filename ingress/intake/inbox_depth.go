package intake

import (
	"context"
	"sync"
	"time"

	"holdfast/event"
)

const (
	// depthAge is how long a count of the inbox is cached. depthTimeout is how long a count may take.
	depthAge     = 5 * time.Second
	depthTimeout = 2 * time.Second
)

// InboxDepth caches the count of the events in the inbox for a few seconds.
type InboxDepth struct {
	count func(context.Context) (event.InboxDepth, error)

	mu   sync.Mutex
	at   time.Time
	last event.InboxDepth
	err  error
}

// NewInboxDepth returns a cache of count.
func NewInboxDepth(count func(context.Context) (event.InboxDepth, error)) *InboxDepth {
	return &InboxDepth{count: count}
}

// Read returns the last count and refreshes it if it is old. Concurrent callers share one refresh.
func (d *InboxDepth) Read(context.Context) (event.InboxDepth, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.at.IsZero() && time.Since(d.at) < depthAge {
		return d.last, d.err
	}
	ctx, cancel := context.WithTimeout(context.Background(), depthTimeout)
	defer cancel()
	d.last, d.err = d.count(ctx)
	d.at = time.Now()
	return d.last, d.err
}
