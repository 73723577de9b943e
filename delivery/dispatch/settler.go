package dispatch

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"holdfast/delivery"
	"holdfast/event"
)

// Limits of settling.
const (
	// batchDelay is how long the first outcome waits for others, unless fullBatch outcomes are pending or no attempt is in flight.
	batchDelay = 10 * time.Millisecond
	fullBatch  = 64
	// settleBatch is the max number of outcomes in one call.
	settleBatch   = 500
	settleTimeout = 30 * time.Second
	// Pauses while the queue is unreachable.
	firstPause = 100 * time.Millisecond
	maxPause   = 5 * time.Second
)

// pendingOutcome keeps the slot of its delivery until it is recorded.
type pendingOutcome struct {
	delivery.Outcome
	slot *slot
}

// settler records outcomes in batches. While the queue is unreachable it keeps them: there are never more than slots.
type settler struct {
	queue         Queue
	slots         *shares
	onTransitions func([]delivery.Transition)

	mu      sync.Mutex
	waiting []pendingOutcome
	closed  bool
	more    chan struct{} // outcomes are pending, or closed
	full    chan struct{} // a full batch is pending
	done    chan struct{}
}

func newSettler(q Queue, s *shares, onTransitions func([]delivery.Transition)) *settler {
	return &settler{
		queue: q, slots: s, onTransitions: onTransitions,
		more: make(chan struct{}, 1), full: make(chan struct{}, 1), done: make(chan struct{}),
	}
}

func (s *settler) add(all ...pendingOutcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, all...)
	notify(s.more)
	if len(s.waiting) >= min(fullBatch, s.slots.inUse()) {
		notify(s.full)
	}
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run settles until the settler is closed and empty, or until ctx ends. Deliveries that aren't settled then are leased again.
func (s *settler) run(ctx context.Context) {
	defer close(s.done)
	for {
		select {
		case <-s.more:
		case <-ctx.Done():
			return
		}
		s.gather()
		for batch, closed := s.next(); len(batch) > 0 || closed; batch, closed = s.next() {
			if len(batch) == 0 {
				return
			}
			s.settle(ctx, batch)
			s.slots.free(slotsOf(batch))
			if ctx.Err() != nil {
				return
			}
		}
	}
}

// gather waits for a full batch or batchDelay.
func (s *settler) gather() {
	timer := time.NewTimer(batchDelay)
	defer timer.Stop()
	select {
	case <-s.full:
	case <-timer.C:
	}
}

func (s *settler) next() (batch []pendingOutcome, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(s.waiting), settleBatch)
	batch = s.waiting[:n:n]
	if s.waiting = s.waiting[n:]; len(s.waiting) == 0 {
		s.waiting = nil
	}
	return batch, s.closed
}

// close ends run. No outcome may be added after it.
func (s *settler) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	notify(s.more)
	notify(s.full)
}

// settle retries until the queue accepts the batch. If the queue rejects it for its content, settle splits it in half, so that
// only the rejected outcome is left to the end of its lease.
func (s *settler) settle(ctx context.Context, batch []pendingOutcome) {
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		err := s.record(ctx, batch)
		if err == nil || ctx.Err() != nil {
			return
		}
		slog.WarnContext(ctx, "dispatch.settle_failed", "deliveries", len(batch), "error", err.Error())
		if event.ClassOf(err) != event.ClassTransient {
			if half := len(batch) / 2; half > 0 {
				s.settle(ctx, batch[:half])
				s.settle(ctx, batch[half:])
			}
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

func (s *settler) record(ctx context.Context, batch []pendingOutcome) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	outcomes := make([]delivery.Outcome, len(batch))
	for i, o := range batch {
		outcomes[i] = o.Outcome
	}
	transitions, err := s.queue.Settle(ctx, outcomes)
	if err == nil {
		s.onTransitions(transitions)
	}
	return err
}

func slotsOf(batch []pendingOutcome) []*slot {
	all := make([]*slot, len(batch))
	for i, o := range batch {
		all[i] = o.slot
	}
	return all
}
