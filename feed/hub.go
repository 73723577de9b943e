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
	// Changes is the next page after a place; ErrResync if that is no more in the feed. The zero cursor is before the first change.
	Changes(ctx context.Context, after Cursor, limit int) (Page, error)
	// Now is the place behind all that has ended.
	Now(ctx context.Context) (Cursor, error)
	// Since is a place before all changes from a time on.
	Since(ctx context.Context, at time.Time) (Cursor, error)
}

// The bounds of a hub.
const (
	// pollEvery is the pause between two looks while nothing comes, and pollAgain that after a failure.
	pollEvery = 200 * time.Millisecond
	pollAgain = time.Second
	// pollTimeout bounds one look.
	pollTimeout = 10 * time.Second
	pageSize    = 500
	// maxListeners is how many listen at once, where Options does not say.
	maxListeners = 100
	// maxBuffered is how many changes wait for one listener.
	maxBuffered = 1000
)

// ErrTooMany says that as many listen as may.
var ErrTooMany = errors.New("as many follow the feed as may")

// errClosed ends what is under way when the hub closes.
var errClosed = errors.New("the feed is closed")

// Hub lets many listen to the feed. It reads only while somebody does, and once for all of them: what is slow to listen skips
// changes, and keeps nobody waiting. It is safe for concurrent use.
type Hub struct {
	reader Reader
	most   int

	mu        sync.Mutex
	at        Cursor // behind all that listeners have been given
	listeners map[*listener]struct{}
	polling   bool
	ctx       context.Context //nolint:containedctx // the life of the hub, which is that of no caller
	stop      context.CancelCauseFunc
}

// NewHub makes one that lets so many listen at once; 0 means 100.
func NewHub(r Reader, most int) *Hub {
	h := &Hub{reader: r, most: cmp.Or(most, maxListeners), listeners: map[*listener]struct{}{}}
	h.ctx, h.stop = context.WithCancelCause(context.Background())
	return h
}

// Close ends all that listen.
func (h *Hub) Close() { h.stop(errClosed) }

// listen gives what comes from its place on. The error is ErrTooMany, or that of the reader.
func (h *Hub) listen(ctx context.Context, f Filter) (l *listener, from Cursor, err error) {
	now, err := h.reader.Now(ctx)
	if err != nil {
		return nil, from, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.listeners) >= h.most {
		return nil, from, ErrTooMany
	}
	switch {
	case !h.polling:
		h.at, h.polling = now, true
		go h.poll()
	case h.at.Epoch != now.Epoch: // no look has met it yet
		h.lose(now)
	}
	l = newListener(f)
	h.listeners[l] = struct{}{}
	return l, h.at, nil
}

// restart forgets what has come, and gives the place from which on it comes.
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

// poll reads until nobody listens.
func (h *Hub) poll() {
	for {
		pause := h.look()
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

// look gives a page to all who listen, and says how long to wait for the next one.
func (h *Hub) look() (pause time.Duration) {
	ctx, cancel := context.WithTimeout(h.ctx, pollTimeout)
	defer cancel()
	at := h.place()
	page, err := h.reader.Changes(ctx, at, pageSize)
	lost := errors.Is(err, ErrResync)
	var now Cursor
	if lost {
		now, err = h.reader.Now(ctx)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.at != at: // it was lost meanwhile
		return 0
	case lost && err != nil:
		h.lose(at)
		return pollAgain
	case lost:
		h.lose(now)
		return pollEvery
	case err != nil:
		return pollAgain
	}
	h.at = page.Next
	for l := range h.listeners {
		l.take(page)
	}
	if page.More {
		return 0
	}
	return pollEvery
}

func (h *Hub) place() Cursor {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at
}

// lose ends all who listen, since the place is lost. Who comes again, be it at once, is given what comes from now on. h.mu is
// held.
func (h *Hub) lose(now Cursor) {
	for l := range h.listeners {
		l.end(ErrResync)
	}
	clear(h.listeners)
	h.at = now
}

// listener is one who listens: what has come and was not taken yet, at most maxBuffered.
type listener struct {
	filter Filter
	came   chan struct{} // has room for one

	mu    sync.Mutex
	batch Batch
	err   error
}

func newListener(f Filter) *listener {
	return &listener{filter: f, came: make(chan struct{}, 1)}
}

func (l *listener) take(p Page) {
	wanted := l.filter.Sift(p.Items)
	l.mu.Lock()
	defer l.mu.Unlock()
	room := max(maxBuffered-len(l.batch.Items), 0)
	if l.batch.Skipped > 0 {
		room = 0 // what comes after a gap comes after its message
	}
	kept := wanted[:min(room, len(wanted))]
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
	case l.came <- struct{}{}:
	default:
	}
}

func (l *listener) overflows() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.batch.Skipped > 0
}

// drain gives what has come.
func (l *listener) drain() (Batch, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.batch
	l.batch = Batch{}
	return b, l.err
}
