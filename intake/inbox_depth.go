package intake

import (
	"context"
	"sync"
	"time"

	"holdfast/event"
)

const (
	// depthAge is how long a count of the inbox is given again, and depthLimit bounds one.
	depthAge   = 5 * time.Second
	depthLimit = 2 * time.Second
)

// InboxDepth counts what waits in the inbox, at most every few seconds, whoever asks how often.
type InboxDepth struct {
	count func(context.Context) (event.InboxDepth, error)

	mu   sync.Mutex
	at   time.Time
	last event.InboxDepth
	err  error
}

// NewInboxDepth makes a counter.
func NewInboxDepth(count func(context.Context) (event.InboxDepth, error)) *InboxDepth {
	return &InboxDepth{count: count}
}

// Read is the last count, made anew if it is old. Callers that come at the same time share one.
func (d *InboxDepth) Read(context.Context) (event.InboxDepth, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.at.IsZero() && time.Since(d.at) < depthAge {
		return d.last, d.err
	}
	ctx, cancel := context.WithTimeout(context.Background(), depthLimit)
	defer cancel()
	d.last, d.err = d.count(ctx)
	d.at = time.Now()
	return d.last, d.err
}
