package dispatch

import (
	"time"

	"holdfast/delivery"
)

// slot is used from the lease of a delivery until its result is settled.
type slot struct {
	of          *shares
	destination int64
	record      *record
	unproven    bool      // its destination was unproven
	began       time.Time // start of the attempt; zero before
	ended       bool      // the attempt has ended
}

// isSlow requires the lock.
func (o *slot) isSlow(now time.Time) bool {
	return !o.ended && !o.began.IsZero() && now.Sub(o.began) > slowAfter
}

func (o *slot) begin() {
	o.of.mu.Lock()
	defer o.of.mu.Unlock()
	o.began = o.of.now()
}

// onSlow is called when the attempt becomes slow: its slot counts as free for others.
func (o *slot) onSlow() {
	o.of.mu.Lock()
	defer o.of.mu.Unlock()
	if o.of.limited && !o.ended {
		notify(o.of.wake)
	}
}

// end updates the record of the destination; an attempt that never started doesn't count.
func (o *slot) end(result delivery.Result) {
	o.of.mu.Lock()
	defer o.of.mu.Unlock()
	r := o.record
	if o.ended = true; o.began.IsZero() {
		return
	}
	r.tried = true
	r.ok = result.Kind == delivery.OK && o.of.now().Sub(o.began) <= slowAfter
	switch {
	case !r.ok:
		r.window = max(1, r.window/2)
	case 2*len(r.slots) > r.window:
		r.window = min(r.window+1, o.of.size)
	}
}

// payload is an event body shared by the attempts of all its destinations.
type payload struct {
	bytes int64
	users int
}

// reserve reserves memory for an attempt and reports whether there was enough. A destination may always have one body, else its
// share. Unproven destinations leave half of the memory to the others. On failure, the window shrinks to the current use.
func (o *slot) reserve(b *payload) bool {
	s := o.of
	s.mu.Lock()
	defer s.mu.Unlock()
	limit := s.memory
	if !o.record.isProven(s.now()) {
		limit /= 2
	}
	fits := o.record.heldBytes == 0 || o.record.heldBytes+b.bytes <= s.memory/memoryShare
	if b.users == 0 {
		fits = fits && (s.heldBytes == 0 || s.heldBytes+b.bytes <= limit)
	}
	if !fits {
		o.record.window = max(1, min(o.record.window, len(o.record.slots)-1))
		return false
	}
	if b.users == 0 {
		s.heldBytes += b.bytes
	}
	b.users++
	o.record.heldBytes += b.bytes
	return true
}

// release frees the memory of a body after its last attempt.
func (o *slot) release(b *payload) {
	o.of.mu.Lock()
	defer o.of.mu.Unlock()
	o.record.heldBytes -= b.bytes
	if b.users--; b.users == 0 {
		o.of.heldBytes -= b.bytes
	}
}
