// Package batch lets concurrent callers share one piece of work, such as a statement and its commit. It must not know what the
// work is, nor what a call stands for.
package batch

import (
	"context"
	"fmt"
	"sync"

	"holdfast/event"
)

// Config describes the batches of a Group.
type Config[T any] struct {
	// Run does the work of a batch, and returns the answer to the calls that it hasn't answered itself.
	Run func([]*Call[T]) error
	// AtOnce is how many batches run at the same time.
	AtOnce int
	// MaxCalls and MaxBytes bound a batch; a single larger call gets its own. Size returns the size of a call.
	MaxCalls, MaxBytes int
	Size               func(T) int
	// MaxWaiting bounds the bytes of waiting calls, and Busy is the answer to further ones; 0 means no limit.
	MaxWaiting int
	Busy       error
	// Apart returns a new function for each batch, which returns false for a call that must wait for a later one. It accepts
	// the first call. nil accepts all.
	Apart func() func(T) bool
}

// Group lets concurrent calls share a run. A single call doesn't wait for others: those that arrive while runs are in flight form
// the next batch. It is safe for concurrent use.
type Group[T any] struct {
	cfg Config[T]

	mu      sync.Mutex
	waiting []*Call[T]
	bytes   int // of the waiting calls
	running int
}

// Call is one call of a Group.
type Call[T any] struct {
	Of T

	bytes    int
	left     bool       // its caller has left; guarded by the group's lock
	answered bool       // used by its run only
	answer   chan error // buffered, so that an answer never blocks if the caller has left
}

// Answer answers a call before its run ends. Call it at most once, from Config.Run.
func (c *Call[T]) Answer(err error) {
	c.answered = true
	c.answer <- err
}

// New makes a Group.
func New[T any](cfg Config[T]) *Group[T] {
	if cfg.Apart == nil {
		cfg.Apart = func() func(T) bool { return func(T) bool { return true } }
	}
	return &Group[T]{cfg: cfg}
}

// Do waits for a run with this call, and returns its answer. If ctx ends first, Do returns its error, and the call runs only if
// its run has begun.
func (g *Group[T]) Do(ctx context.Context, of T) error {
	c := &Call[T]{Of: of, bytes: g.cfg.Size(of), answer: make(chan error, 1)}
	if !g.join(c) {
		return g.cfg.Busy
	}
	select {
	case err := <-c.answer:
		return err
	case <-ctx.Done():
		g.leave(c)
		return ctx.Err()
	}
}

func (g *Group[T]) join(c *Call[T]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cfg.MaxWaiting > 0 && g.bytes+c.bytes > g.cfg.MaxWaiting && len(g.waiting) > 0 {
		return false
	}
	g.waiting, g.bytes = append(g.waiting, c), g.bytes+c.bytes
	if g.running < g.cfg.AtOnce {
		g.running++
		go g.run()
	}
	return true
}

func (g *Group[T]) leave(c *Call[T]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c.left = true
}

// run runs batches while calls wait.
func (g *Group[T]) run() {
	for calls := g.take(); len(calls) > 0; calls = g.take() {
		err := g.runSafely(calls)
		for _, c := range calls {
			if !c.answered {
				c.Answer(err)
			}
		}
	}
}

// runSafely recovers panics, since this goroutine has no other recovery. The panic value may contain a part of a call.
func (g *Group[T]) runSafely(calls []*Call[T]) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &event.Error{Class: event.ClassFailed, Code: "panic", Text: fmt.Sprintf("batch panicked with a %T", value)}
		}
	}()
	return g.cfg.Run(calls)
}

// take removes the next batch from the waiting calls; if there is none, its run ends.
func (g *Group[T]) take() (calls []*Call[T]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	bytes, accepts, rest := 0, g.cfg.Apart(), g.waiting[:0]
	for i, c := range g.waiting {
		if len(calls) == g.cfg.MaxCalls {
			rest = append(rest, g.waiting[i:]...)
			break
		}
		switch {
		case c.left:
			g.bytes -= c.bytes
		case len(calls) > 0 && bytes+c.bytes > g.cfg.MaxBytes, !accepts(c.Of):
			rest = append(rest, c)
		default:
			calls, bytes, g.bytes = append(calls, c), bytes+c.bytes, g.bytes-c.bytes
		}
	}
	clear(g.waiting[len(rest):])
	g.waiting = rest
	if len(calls) == 0 {
		g.running--
	}
	return calls
}
