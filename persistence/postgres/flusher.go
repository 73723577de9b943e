package postgres

import (
	"context"
	"sync"
	"time"
)

// Flusher calls a function at intervals, and once more when it is stopped.
type Flusher struct {
	stop, stopped chan struct{}
	once          sync.Once
}

// NewFlusher makes a Flusher; Run starts it.
func NewFlusher() *Flusher {
	return &Flusher{stop: make(chan struct{}), stopped: make(chan struct{})}
}

// Run flushes until Stop; isEnd is true the last time.
func (f *Flusher) Run(every time.Duration, flush func(now time.Time, isEnd bool)) {
	defer close(f.stopped)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			flush(now, false)
		case <-f.stop:
			flush(time.Now(), true)
			return
		}
	}
}

// Stop flushes what is left, within ctx, and ends.
func (f *Flusher) Stop(ctx context.Context) error {
	f.once.Do(func() { close(f.stop) })
	select {
	case <-f.stopped:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
