package intake

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// busyPoll is the interval at which the bulk lane is polled while other processes fill it. idlePoll is the interval while
	// it is idle.
	busyPoll = 40 * time.Millisecond
	idlePoll = 500 * time.Millisecond
	// busyFor is how long after an event the lane counts as busy.
	busyFor = 5 * time.Second
	// pollTimeout bounds one poll, because a query on a dead connection never returns.
	pollTimeout = 2 * time.Second
	// batchRetry is the pause after a run that failed or could not be started.
	batchRetry = time.Second
)

// BulkQueue returns the positions in the bulk lane of the oldest event that no batch has claimed (0: none) and of the newest
// event.
type BulkQueue interface {
	BulkPositions(ctx context.Context) (oldest, newest int64, err error)
}

// Batches runs ProcessBatch workflows.
type Batches interface {
	// Run starts a workflow whose transactions have at most limit events each, and waits until it ends. claimed is the number of
	// events that it claimed.
	Run(ctx context.Context, limit int) (claimed int, err error)
}

// BulkStarter starts a run whenever the bulk lane has events: immediately if this process has added them, else after a poll.
// Under low load there is one run at a time; each full batch starts one more, up to inFlight. Several processes may serve the
// same lane.
//
// While the lane is behind, it also delays the acknowledgments of new events: see Throttle.
type BulkStarter struct {
	queue     BulkQueue
	batches   Batches
	limit     int
	inFlight  int
	wakes     chan struct{} // signals new events to the first loop
	extraRuns chan struct{} // starts more runs when a batch was full
	throttle  throttle
	arrivals  *arrivals

	cancel  context.CancelFunc
	ctx     context.Context //nolint:containedctx // of the loops, which Stop ends
	running sync.WaitGroup
}

// NewBulkStarter returns a starter with at most inFlight concurrent runs, whose batches have at most limit events each.
func NewBulkStarter(queue BulkQueue, batches Batches, limit, inFlight int) *BulkStarter {
	b := &BulkStarter{
		queue: queue, batches: batches, limit: limit, inFlight: inFlight, wakes: signal(), extraRuns: signal(),
		arrivals: newArrivals(),
	}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

// Start starts the loops.
func (b *BulkStarter) Start() {
	b.running.Go(func() { b.work(b.wakes) })
	for range b.inFlight - 1 {
		b.running.Go(func() { b.work(b.extraRuns) })
	}
	b.running.Go(b.poll)
}

// Stop ends the loops: no more runs are started and no more responses delayed. Runs in flight continue, here or in another
// process.
func (b *BulkStarter) Stop() {
	b.cancel()
	b.running.Wait()
}

// Wake reports an event that waits in the lane. It may be called on a starter that is nil or not started.
func (b *BulkStarter) Wake() {
	if b != nil {
		notify(b.wakes)
		notify(b.arrivals.signal)
	}
}

func signal() chan struct{} { return make(chan struct{}, 1) }

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // already signaled
	}
}

// work starts a run after each signal if the lane has events that no batch has claimed.
func (b *BulkStarter) work(signal <-chan struct{}) {
	for {
		select {
		case <-signal:
		case <-b.ctx.Done():
			return
		}
		if oldest, _, err := b.readPositions(); err != nil || oldest == 0 {
			continue // the poll will find it
		}
		claimed, err := b.batches.Run(b.ctx, b.limit)
		switch {
		case b.ctx.Err() != nil:
			return
		case err != nil:
			slog.WarnContext(b.ctx, "batch.failed", "error", err.Error())
			pause(b.ctx, batchRetry, nil)
		case claimed == 0: // another process was faster
			pause(b.ctx, busyPoll, nil)
		}
		notify(b.wakes) // the lane may have more
	}
}

func (b *BulkStarter) readPositions() (oldest, newest int64, err error) {
	ctx, cancel := context.WithTimeout(b.ctx, pollTimeout)
	defer cancel()
	return b.queue.BulkPositions(ctx)
}

// poll looks for events that other processes added, and for those that a dead process left behind. It wakes the starter only
// for events that the previous poll saw too: a batch in flight is about to claim newer ones. While only this process fills the
// lane, it polls as rarely as in an idle lane.
func (b *BulkStarter) poll() {
	var busy time.Time
	var seen int64
	for b.ctx.Err() == nil {
		oldest, newest, err := b.readPositions()
		waits := err == nil && oldest > 0
		if waits {
			if !b.arrivals.areAll() {
				busy = time.Now()
			}
			if oldest <= seen {
				b.Wake()
			}
			seen = newest
		}
		if waits || time.Since(busy) < busyFor {
			pause(b.ctx, busyPoll, nil)
		} else {
			pause(b.ctx, idlePoll, nil)
		}
	}
}
