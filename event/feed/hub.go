package feed

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"
)

// Reader reads the feed.
type Reader interface {
	// Changes returns the next page after a position, or ErrResync if the feed no longer has that position. The zero cursor is
	// before the first change.
	Changes(ctx context.Context, after Cursor, limit int) (Page, error)
	// Now returns the position after all finished transactions.
	Now(ctx context.Context) (Cursor, error)
	// Since returns a position before all changes since a time.
	Since(ctx context.Context, at time.Time) (Cursor, error)
}

// Limits of a hub.
const (
	// pollInterval is the pause between two polls without a change, pollRetry that after an error.
	pollInterval = 200 * time.Millisecond
	pollRetry    = time.Second
	// pollTimeout bounds one poll.
	pollTimeout = 10 * time.Second
	pageSize    = 500
	// maxListeners is the default limit.
	maxListeners = 100
	// maxBuffered is the max number of buffered changes per listener.
	maxBuffered = 1000
)

// ErrTooMany is returned if the max number of listeners is reached.
var ErrTooMany = errors.New("too many clients follow the feed")

// errClosed is the cause when the hub closes.
var errClosed = errors.New("the feed is closed")

// Hub shares one poller among many listeners. It polls only while there are listeners. A slow listener skips changes and doesn't
// delay others. It is safe for concurrent use.
type Hub struct {
	reader Reader
	limit  int

	mu        sync.Mutex
	at        Cursor // after the last page
	listeners map[*listener]struct{}
	polling   bool
	ctx       context.Context //nolint:containedctx // lifetime of the hub, not of a caller
	stop      context.CancelCauseFunc
}

// NewHub returns a hub for at most maxListeners listeners; 0 means 100.
func NewHub(r Reader, limit int) *Hub {
	h := &Hub{reader: r, limit: cmp.Or(limit, maxListeners), listeners: map[*listener]struct{}{}}
	h.ctx, h.stop = context.WithCancelCause(context.Background())
	return h
}

// Close disconnects all listeners.
func (h *Hub) Close() { h.stop(errClosed) }

// listen adds a listener that gets all changes from the returned position on. The error is ErrTooMany or from the reader.
func (h *Hub) listen(ctx context.Context, f Filter) (l *listener, from Cursor, err error) {
	now, err := h.reader.Now(ctx)
	if err != nil {
		return nil, from, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.listeners) >= h.limit {
		return nil, from, ErrTooMany
	}
	switch {
	case !h.polling:
		h.at, h.polling = now, true
		go h.poll()
	case h.at.Epoch != now.Epoch: // not polled yet
		h.reset(now)
	}
	l = newListener(f)
	h.listeners[l] = struct{}{}
	return l, h.at, nil
}

// restart drops the buffered changes and returns the position from which new ones arrive.
func (h *Hub) restart(l *listener) (from Cursor) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, _ = l.drain()
	return h.at
}

func (h *Hub) leave(l *listener) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.listeners, l)
}

// poll polls until there are no listeners.
func (h *Hub) poll() {
	for {
		pause := h.pollOnce()
		if pause > 0 {
			select {
			case <-time.After(pause):
			case <-h.ctx.Done():
			}
		}
		h.mu.Lock()
		if len(h.listeners) == 0 || h.ctx.Err() != nil {
			h.polling = false
			h.mu.Unlock()
			return
		}
		h.mu.Unlock()
	}
}

// pollOnce sends a page to all listeners and returns the pause before the next.
func (h *Hub) pollOnce() (pause time.Duration) {
	ctx, cancel := context.WithTimeout(h.ctx, pollTimeout)
	defer cancel()
	at := h.position()
	page, err := h.reader.Changes(ctx, at, pageSize)
	lost := errors.Is(err, ErrResync)
	var now Cursor
	if lost {
		now, err = h.reader.Now(ctx)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.at != at: // reset meanwhile
		return 0
	case lost && err != nil:
		h.reset(at)
		return pollRetry
	case lost:
		h.reset(now)
		return pollInterval
	case err != nil:
		return pollRetry
	}
	h.at = page.Next
	for l := range h.listeners {
		l.add(page)
	}
	if page.More {
		return 0
	}
	return pollInterval
}

func (h *Hub) position() Cursor {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at
}

// reset ends all listeners, because the position no longer exists. New listeners start at now. It requires h.mu.
func (h *Hub) reset(now Cursor) {
	for l := range h.listeners {
		l.end(ErrResync)
	}
	clear(h.listeners)
	h.at = now
}

// listener buffers at most maxBuffered changes.
type listener struct {
	filter Filter
	ready  chan struct{} // buffer of one

	mu    sync.Mutex
	batch Batch
	err   error
}

func newListener(f Filter) *listener {
	return &listener{filter: f, ready: make(chan struct{}, 1)}
}

func (l *listener) add(p Page) {
	wanted := l.filter.Select(p.Items)
	l.mu.Lock()
	defer l.mu.Unlock()
	free := max(maxBuffered-len(l.batch.Items), 0)
	if l.batch.Skipped > 0 {
		free = 0 // changes after a gap follow its message
	}
	kept := wanted[:min(free, len(wanted))]
	l.batch.Items = append(l.batch.Items, kept...)
	l.batch.Skipped += len(wanted) - len(kept)
	l.batch.Next = p.Next
	if len(wanted) > 0 {
		l.wake()
	}
}

func (l *listener) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
	l.wake()
}

func (l *listener) wake() {
	select {
	case l.ready <- struct{}{}:
	default:
	}
}

func (l *listener) overflows() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.batch.Skipped > 0
}

// drain returns and clears the buffer.
func (l *listener) drain() (Batch, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.batch
	l.batch = Batch{}
	return b, l.err
}
