package intake

import (
	"context"
	"maps"
	"sync"
	"time"

	"holdfast/event"
)

const (
	// gatherFor is how long the first event waits for others to share its batch. An event is processed this long after its ACK, plus
	// up to two transactions; the goal is 40 ms (p99).
	gatherFor = 25 * time.Millisecond
	// othersPoll is the pause between two batches of a run while other processes fill the lane, too.
	othersPoll = 20 * time.Millisecond
	// othersFor is how long other processes count as filling the lane after a batch has claimed an event of theirs.
	othersFor = time.Minute
	// forgetAfter is when an event counts as claimed by another process.
	forgetAfter = 10 * time.Second
	// maxArrivals bounds the memory while no batch claims anything, as Temporal is down or all workers are other processes.
	maxArrivals = 10_000
)

// arrivals queues the events that this process has committed to the bulk lane and not claimed yet, so a batch need not poll.
type arrivals struct {
	signal chan struct{} // an event was committed

	mu       sync.Mutex
	at       map[string]time.Time // by event ID
	receives bool                 // whether this process has ever committed an event to the lane
	others   time.Time            // when a batch last claimed an event of another process
}

func newArrivals() *arrivals { return &arrivals{signal: signal(), at: map[string]time.Time{}} }

// Expect reports an event before this process commits it to the lane. Call the result if it isn't committed. Expect may be called
// on a starter that is nil or not started.
func (b *BulkStarter) Expect(eventID string) (forget func()) {
	if b == nil {
		return func() {}
	}
	a := b.arrivals
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if len(a.at) >= maxArrivals {
		clear(a.at)
		a.others = now // who claims them isn't known
	}
	a.at[eventID], a.receives = now, true
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.at, eventID)
	}
}

// claimed removes the events of a batch.
func (a *arrivals) claimed(events []event.Batched, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range events {
		if _, ok := a.at[e.Receipt.ID]; !ok {
			a.others = now
		}
		delete(a.at, e.Receipt.ID)
	}
	maps.DeleteFunc(a.at, func(_ string, at time.Time) bool { return now.Sub(at) > forgetAfter })
	if len(a.at) == 0 {
		select {
		case <-a.signal: // the batch has claimed the event
		default:
		}
	}
}

// areAll reports whether this process is the only one that fills the lane, as far as its batches show.
func (a *arrivals) areAll() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.receives && time.Since(a.others) > othersFor
}

// first returns when the first unclaimed event arrived.
func (a *arrivals) first() (first time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, at := range a.at {
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return first
}

// Gather waits until a run should claim its next batch: gatherFor after the first event that this process has received. It
// returns false if there is no such event by the time until. While other processes fill the lane, it only pauses.
func (b *BulkStarter) Gather(ctx context.Context, until time.Time) bool {
	if time.Now().After(until) {
		return false
	}
	if !b.arrivals.areAll() {
		pause(ctx, othersPoll, nil)
		return time.Now().Before(until)
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-b.arrivals.signal:
		pause(ctx, time.Until(b.arrivals.first().Add(gatherFor)), b.ctx.Done())
		return true
	case <-timer.C:
	case <-ctx.Done():
	case <-b.ctx.Done():
	}
	return false
}
