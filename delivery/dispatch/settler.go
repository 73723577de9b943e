package dispatch

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"holdfast/delivery"
	"holdfast/event"
)

// How outcomes are settled.
const (
	// gather is how long the first outcome waits for others, and enough how many need not wait. Where no attempt is under way any
	// more none does.
	gather = 10 * time.Millisecond
	enough = 64
	// settleBatch is how many are settled at once, at most.
	settleBatch = 500
	// settleLimit bounds one call.
	settleLimit = 30 * time.Second
	// The pauses while the queue cannot be reached.
	firstPause = 100 * time.Millisecond
	maxPause   = 5 * time.Second
)

// outcome is a delivery with its result, and the slot that it holds until it is settled.
type outcome struct {
	delivery.Settled
	slot *slot
}

// settler records outcomes, many at a time. While the queue cannot be reached it keeps them: there are never more than slots.
type settler struct {
	queue  Queue
	slots  *shares
	turned func([]delivery.Turn)

	mu      sync.Mutex
	waiting []outcome
	closed  bool
	more    chan struct{} // there is something, or it is closed
	full    chan struct{} // there is enough
	done    chan struct{}
}

func newSettler(q Queue, s *shares, turned func([]delivery.Turn)) *settler {
	return &settler{
		queue: q, slots: s, turned: turned,
		more: make(chan struct{}, 1), full: make(chan struct{}, 1), done: make(chan struct{}),
	}
}

func (s *settler) add(all ...outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, all...)
	notify(s.more)
	if len(s.waiting) >= min(enough, s.slots.taken()) {
		notify(s.full)
	}
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run settles until it is closed and nothing is left, or until ctx ends: what is not settled then is leased again by somebody.
func (s *settler) run(ctx context.Context) {
	defer close(s.done)
	for {
		select {
		case <-s.more:
		case <-ctx.Done():
			return
		}
		s.gather()
		for batch, closed := s.take(); len(batch) > 0 || closed; batch, closed = s.take() {
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

// gather waits for others.
func (s *settler) gather() {
	timer := time.NewTimer(gather)
	defer timer.Stop()
	select {
	case <-s.full:
	case <-timer.C:
	}
}

func (s *settler) take() (batch []outcome, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(s.waiting), settleBatch)
	batch = s.waiting[:n:n]
	if s.waiting = s.waiting[n:]; len(s.waiting) == 0 {
		s.waiting = nil
	}
	return batch, s.closed
}

// close lets run end. Nothing is added after it.
func (s *settler) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	notify(s.more)
	notify(s.full)
}

// settle tries until the queue has taken the batch. An outcome that it refuses for what is in it must not keep the others: the
// batch is halved, and what is refused alone is left to the end of its lease.
func (s *settler) settle(ctx context.Context, batch []outcome) {
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		err := s.try(ctx, batch)
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

func (s *settler) try(ctx context.Context, batch []outcome) error {
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	settled := make([]delivery.Settled, len(batch))
	for i, o := range batch {
		settled[i] = o.Settled
	}
	turns, err := s.queue.Settle(ctx, settled)
	if err == nil {
		s.turned(turns)
	}
	return err
}

func slotsOf(batch []outcome) []*slot {
	all := make([]*slot, len(batch))
	for i, o := range batch {
		all[i] = o.slot
	}
	return all
}
