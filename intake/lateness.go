package intake

import (
	"sync"
	"time"

	"holdfast/event"
)

const (
	// holdShare is what a sender waits of the time by which the lane is late. Some of 32 that wait for their answers then wait
	// for some milliseconds; more of it would swing, since what a batch says is as old as the batch.
	holdShare = 8
	// maxHold bounds a wait. It is a part of the time that a sender has, and of the ACK budget, which bounds it as well.
	maxHold = 100 * time.Millisecond
	// lateFor is how long a batch has a say.
	lateFor = time.Second
)

// lateness is by how much the bulk lane is late, as the last batch has found it.
type lateness struct {
	mu   sync.Mutex
	late time.Duration
	at   time.Time
}

// Took says what a batch of this process has taken, at its end. One that was full has left events waiting: the lane is late by
// the age of its oldest, and more runs are called. Any other has emptied the lane.
func (p *Pump) Took(events []event.Batched) {
	now, late := time.Now(), time.Duration(0)
	if len(events) >= p.limit {
		for _, e := range events {
			late = max(late, now.Sub(e.Receipt.ReceivedAt))
		}
		tell(p.calls)
	}
	p.lateness.mu.Lock()
	defer p.lateness.mu.Unlock()
	p.lateness.late, p.lateness.at = late, now
}

// hold is how long an acknowledgement waits.
func (l *lateness) hold() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.late == 0 || time.Since(l.at) > lateFor {
		return 0
	}
	return min(l.late/holdShare, maxHold)
}

// Hold keeps the answer to a sender whose event is committed, for a part of the time by which the lane is late, so that whoever
// waits for his answers sends no faster than events are processed. Whoever does not wait for them loses nothing. It ends with the
// pump, and until a time at most. A pump that is nil holds nobody.
func (p *Pump) Hold(until time.Time) {
	if p == nil {
		return
	}
	if d := min(p.lateness.hold(), time.Until(until)); d > 0 {
		p.sleep(d)
	}
}
