package journal

import (
	"context"
	"sync"
	"time"
)

// beside flushes something now and then, behind whoever fills it, and once more at its end.
type beside struct {
	stop, stopped chan struct{}
	once          sync.Once
}

func newBeside() *beside {
	return &beside{stop: make(chan struct{}), stopped: make(chan struct{})}
}

// run flushes until Stop; the last time it is told that this is the end.
func (b *beside) run(every time.Duration, flush func(now time.Time, isEnd bool)) {
	defer close(b.stopped)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			flush(now, false)
		case <-b.stop:
			flush(time.Now(), true)
			return
		}
	}
}

// Stop writes what is left, as far as ctx lets it, and ends.
func (b *beside) Stop(ctx context.Context) error {
	b.once.Do(func() { close(b.stop) })
	select {
	case <-b.stopped:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
