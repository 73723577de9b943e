package intake

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// batchPause lets events gather between a small batch and the next one, so that a trickle is not a workflow for each event.
	batchPause = 50 * time.Millisecond
	// busyPoll is the pause between two looks at the bulk lane while other processes fill it, idlePoll while nobody does.
	busyPoll = 40 * time.Millisecond
	idlePoll = 500 * time.Millisecond
	// busyFor is how long after an event the lane counts as busy.
	busyFor = 5 * time.Second
	// batchRetry is the pause after a run that could not be started, or has failed.
	batchRetry = time.Second
)

// BulkQueue tells whether events wait in the bulk lane that no batch has taken.
type BulkQueue interface {
	BulkWaits(ctx context.Context) (bool, error)
}

// Batches starts runs of batches.
type Batches interface {
	// Run starts a run, whose batches have at most limit events each, and waits until it has ended; taken is how many there were.
	Run(ctx context.Context, limit int) (taken int, err error)
}

// Pump starts a run whenever events wait in the bulk lane: at once if this process has put them there, else within its poll.
// While little comes there is one run at a time, with a pause behind it; each batch that is full calls for one more, up to
// inFlight. Several processes may pump the same lane.
//
// While the lane is late it also holds up the acknowledgements of what is put there: see Hold.
type Pump struct {
	queue    BulkQueue
	batches  Batches
	limit    int
	inFlight int
	wakes    chan struct{} // for the first loop
	calls    chan struct{} // for the others
	lateness lateness

	cancel  context.CancelFunc
	ctx     context.Context //nolint:containedctx // of the loops, which Stop ends
	running sync.WaitGroup
}

// NewPump makes a pump that has at most inFlight runs under way, whose batches have at most limit events each.
func NewPump(queue BulkQueue, batches Batches, limit, inFlight int) *Pump {
	p := &Pump{queue: queue, batches: batches, limit: limit, inFlight: inFlight, wakes: signal(), calls: signal()}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// Start begins to pump.
func (p *Pump) Start() {
	p.running.Go(func() { p.work(p.wakes) })
	for range p.inFlight - 1 {
		p.running.Go(func() { p.work(p.calls) })
	}
	p.running.Go(p.poll)
}

// Stop starts no more runs, and holds nobody up. Those that are under way end, here or elsewhere.
func (p *Pump) Stop() {
	p.cancel()
	p.running.Wait()
}

// Wake says that an event waits. Of a pump that is nil, or has not started, it is no error.
func (p *Pump) Wake() {
	if p != nil {
		tell(p.wakes)
	}
}

func signal() chan struct{} { return make(chan struct{}, 1) }

func tell(signal chan struct{}) {
	select {
	case signal <- struct{}{}:
	default: // somebody has said so already
	}
}

// work starts a run whenever it is told to.
func (p *Pump) work(signal <-chan struct{}) {
	for {
		select {
		case <-signal:
		case <-p.ctx.Done():
			return
		}
		pause := batchPause
		taken, err := p.batches.Run(p.ctx, p.limit)
		switch {
		case p.ctx.Err() != nil:
			return
		case err != nil:
			slog.WarnContext(p.ctx, "batch.failed", "error", err.Error())
			pause = batchRetry
			p.Wake()
		case 2*taken >= p.limit:
			pause = 0
			p.Wake()
		}
		p.sleep(pause)
	}
}

// poll looks for events of other processes, and for what a process has left that is gone.
func (p *Pump) poll() {
	var busy time.Time
	for p.ctx.Err() == nil {
		waits, err := p.queue.BulkWaits(p.ctx)
		if err == nil && waits {
			busy = time.Now()
			p.Wake()
		}
		if time.Since(busy) < busyFor {
			p.sleep(busyPoll)
		} else {
			p.sleep(idlePoll)
		}
	}
}

func (p *Pump) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.ctx.Done():
	}
}
