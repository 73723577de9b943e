package intake

import (
	"sync"
	"time"

	"holdfast/event"
)

const (
	// throttleShare is what a sender waits of the time by which the lane is late. Some of 32 that wait for their answers then wait
	// for some milliseconds; more of it would swing, since what a batch says is as old as the batch.
	throttleShare = 8
	// maxThrottle bounds a wait. It is a part of the time that a sender has, and of the ACK budget, which bounds it as well.
	maxThrottle = 100 * time.Millisecond
	// lateFor is how long a batch has a say.
	lateFor = time.Second
)

// throttle knows by how much the bulk lane is late, as the last batch has found it. An ACK of the lane costs less than
// processing: without a throttle, senders that wait for their answers let its queue grow without end, and the time from ACK to
// processed to seconds within one run of the benchmark, whose goal is 60 ms.
type throttle struct {
	mu   sync.Mutex
	late time.Duration
	at   time.Time
}

// Took says what a batch of this process has taken, at its end. One that was full has left events waiting: the lane is late by
// the age of its oldest, and more runs are called. Any other has emptied the lane.
func (b *BulkStarter) Took(events []event.Batched) {
	now, late := time.Now(), time.Duration(0)
	if len(events) >= b.limit {
		for _, e := range events {
			late = max(late, now.Sub(e.Receipt.ReceivedAt))
		}
		notify(b.calls)
	}
	b.throttle.mu.Lock()
	defer b.throttle.mu.Unlock()
	b.throttle.late, b.throttle.at = late, now
}

// pause is how long an acknowledgement waits.
func (t *throttle) pause() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.late == 0 || time.Since(t.at) > lateFor {
		return 0
	}
	return min(t.late/throttleShare, maxThrottle)
}

// Throttle keeps back the answer to a sender whose event is committed, for a part of the time by which the lane is late, so that
// whoever waits for his answers sends no faster than events are processed. Whoever does not wait for them loses nothing. It ends
// with the starter, and until a time at most. A starter that is nil slows nobody.
func (b *BulkStarter) Throttle(until time.Time) {
	if b == nil {
		return
	}
	rest(b.ctx, min(b.throttle.pause(), time.Until(until)), nil)
}
