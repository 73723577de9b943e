package intake

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// busyPoll is the pause between two looks at the bulk lane while other processes fill it, idlePoll while nobody does.
	busyPoll = 40 * time.Millisecond
	idlePoll = 500 * time.Millisecond
	// busyFor is how long after an event the lane counts as busy.
	busyFor = 5 * time.Second
	// lookFor bounds a look: a connection that was forgotten on the way has no answer.
	lookFor = 2 * time.Second
	// batchRetry is the pause after a run that could not be started, or has failed.
	batchRetry = time.Second
)

// BulkQueue knows the bulk lane: the place of the oldest event that no batch has taken, 0 where none waits, and of the newest.
type BulkQueue interface {
	BulkSpan(ctx context.Context) (oldest, newest int64, err error)
}

// Batches starts runs of batches.
type Batches interface {
	// Run starts a run, whose batches have at most limit events each, and waits until it has ended; taken is how many there were.
	Run(ctx context.Context, limit int) (taken int, err error)
}

// BulkStarter starts a run whenever events wait in the bulk lane: at once if this process has put them there, else within its
// poll. While little comes there is one run at a time; each batch that is full calls for one more, up to inFlight. Several
// processes may serve the same lane.
//
// While the lane is late it also slows the acknowledgements of what is put there: see Throttle.
type BulkStarter struct {
	queue    BulkQueue
	batches  Batches
	limit    int
	inFlight int
	wakes    chan struct{} // for the first loop
	calls    chan struct{} // for the others
	throttle throttle

	cancel  context.CancelFunc
	ctx     context.Context //nolint:containedctx // of the loops, which Stop ends
	running sync.WaitGroup
}

// NewBulkStarter makes one that has at most inFlight runs under way, whose batches have at most limit events each.
func NewBulkStarter(queue BulkQueue, batches Batches, limit, inFlight int) *BulkStarter {
	b := &BulkStarter{queue: queue, batches: batches, limit: limit, inFlight: inFlight, wakes: signal(), calls: signal()}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

// Start begins.
func (b *BulkStarter) Start() {
	b.running.Go(func() { b.work(b.wakes) })
	for range b.inFlight - 1 {
		b.running.Go(func() { b.work(b.calls) })
	}
	b.running.Go(b.poll)
}

// Stop starts no more runs, and slows nobody. Those that are under way end, here or elsewhere.
func (b *BulkStarter) Stop() {
	b.cancel()
	b.running.Wait()
}

// Wake says that an event waits. Of a starter that is nil, or has not started, it is no error.
func (b *BulkStarter) Wake() {
	if b != nil {
		notify(b.wakes)
	}
}

func signal() chan struct{} { return make(chan struct{}, 1) }

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // somebody has said so already
	}
}

// work starts a run whenever it is told to and events wait: the run before may have taken them.
func (b *BulkStarter) work(signal <-chan struct{}) {
	for {
		select {
		case <-signal:
		case <-b.ctx.Done():
			return
		}
		if oldest, _, err := b.look(); err != nil || oldest == 0 {
			continue // what cannot be seen now, the poll finds
		}
		taken, err := b.batches.Run(b.ctx, b.limit)
		switch {
		case b.ctx.Err() != nil:
			return
		case err != nil:
			slog.WarnContext(b.ctx, "batch.failed", "error", err.Error())
			rest(b.ctx, batchRetry, nil)
		case taken == 0: // somebody else has it
			rest(b.ctx, busyPoll, nil)
		}
		b.Wake() // the lane may have more
	}
}

func (b *BulkStarter) look() (oldest, newest int64, err error) {
	ctx, cancel := context.WithTimeout(b.ctx, lookFor)
	defer cancel()
	return b.queue.BulkSpan(ctx)
}

// poll looks for events of other processes, and for what a process has left that is gone: one that was there at the look before
// waits for no batch that is under way.
func (b *BulkStarter) poll() {
	var busy time.Time
	var seen int64
	for b.ctx.Err() == nil {
		oldest, newest, err := b.look()
		if err == nil && oldest > 0 {
			busy = time.Now()
			if oldest <= seen {
				b.Wake()
			}
			seen = newest
		}
		if time.Since(busy) < busyFor {
			rest(b.ctx, busyPoll, nil)
		} else {
			rest(b.ctx, idlePoll, nil)
		}
	}
}
