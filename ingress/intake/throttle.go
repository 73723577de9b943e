package intake

import (
	"sync"
	"time"

	"holdfast/event"
)

const (
	// A response is delayed by the lane's delay divided by throttleDivisor. With 32 senders in a closed loop, some of them wait for
	// a few milliseconds. With a smaller divisor, the delay would oscillate, because a batch reports its delay only when it ends.
	throttleDivisor = 8
	// maxThrottle bounds one wait. It is a small part of a sender's timeout. The ACK budget also bounds the wait.
	maxThrottle = 100 * time.Millisecond
	// delayValidFor is how long the delay that a batch reports stays valid.
	delayValidFor = time.Second
)

// throttle holds the bulk lane's delay as reported by the last batch. An ACK is cheaper than processing: without a throttle,
// senders in a closed loop make the queue grow without bound, and the time from ACK to processed reaches seconds within one run
// of the benchmark, whose goal is 60 ms.
type throttle struct {
	mu    sync.Mutex
	delay time.Duration
	at    time.Time
}

// BatchEnded reports what a batch of this process has claimed. A full batch has left events waiting: the delay of the lane is
// the age of the batch's oldest event, and more runs are started. Any other batch has emptied the lane.
func (b *BulkStarter) BatchEnded(events []event.Batched) {
	now, delay := time.Now(), time.Duration(0)
	b.arrivals.claimed(events, now)
	if len(events) >= b.limit {
		for _, e := range events {
			delay = max(delay, now.Sub(e.Receipt.ReceivedAt))
		}
		notify(b.extraRuns)
		notify(b.arrivals.signal) // a run in flight may be gathering
	}
	b.throttle.mu.Lock()
	defer b.throttle.mu.Unlock()
	b.throttle.delay, b.throttle.at = delay, now
}

func (t *throttle) pause() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.delay == 0 || time.Since(t.at) > delayValidFor {
		return 0
	}
	return min(t.delay/throttleDivisor, maxThrottle)
}

// Throttle delays the response for a committed event by a fraction of the lane's delay, so that senders in a closed loop send no
// faster than events are processed. Senders that don't wait for the response before they send the next event aren't slowed down.
// The wait ends at the time until at the latest, or when the starter stops. A nil starter doesn't delay.
func (b *BulkStarter) Throttle(until time.Time) {
	if b == nil {
		return
	}
	pause(b.ctx, min(b.throttle.pause(), time.Until(until)), nil)
}
