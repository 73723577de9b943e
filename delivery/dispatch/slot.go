package dispatch

import (
	"time"

	"holdfast/delivery"
)

// slot is held from the lease of a delivery until its outcome is settled.
type slot struct {
	of          *shares
	destination int64
	record      *record
	unproven    bool      // it was taken while the destination was
	began       time.Time // the attempt; zero before
	ended       bool      // the attempt
}

// isLate says whether the attempt is under way for too long. The caller holds the lock.
func (o *slot) isLate(now time.Time) bool {
	return !o.ended && !o.began.IsZero() && now.Sub(o.began) > provenWithin
}

// begin notes that the attempt begins.
func (o *slot) begin() {
	o.of.mu.Lock()
	defer o.of.mu.Unlock()
	o.began = o.of.now()
}

// passes is called when the attempt is late: others may get the slot that it doesn't count for any more.
func (o *slot) passes() {
	o.of.mu.Lock()
	defer o.of.mu.Unlock()
	if o.of.limited && !o.ended {
		notify(o.of.look)
	}
}

// end notes what the attempt says of its destination: nothing, if it never began.
func (o *slot) end(result delivery.Result) {
	o.of.mu.Lock()
	defer o.of.mu.Unlock()
	r := o.record
	if o.ended = true; o.began.IsZero() {
		return
	}
	r.tried = true
	r.ok = result.Kind == delivery.OK && o.of.now().Sub(o.began) <= provenWithin
	switch {
	case !r.ok:
		r.window = max(1, r.window/2)
	case 2*len(r.slots) > r.window:
		r.window = min(r.window+1, o.of.size)
	}
}

// payload is the body of an event, for the attempts of all of its destinations.
type payload struct {
	bytes int64
	users int
}

// hold counts a body for an attempt, and says whether there is memory for it. A destination may hold one of any size, else its
// share. Unproven ones leave half of the memory to the others. Where there is none, the window shrinks to what there is.
func (o *slot) hold(b *payload) bool {
	s := o.of
	s.mu.Lock()
	defer s.mu.Unlock()
	limit := s.memory
	if !o.record.isProven(s.now()) {
		limit /= 2
	}
	fits := o.record.held == 0 || o.record.held+b.bytes <= s.memory/memoryShare
	if b.users == 0 {
		fits = fits && (s.held == 0 || s.held+b.bytes <= limit)
	}
	if !fits {
		o.record.window = max(1, min(o.record.window, len(o.record.slots)-1))
		return false
	}
	if b.users == 0 {
		s.held += b.bytes
	}
	b.users++
	o.record.held += b.bytes
	return true
}

// release gives the memory of a body back once its last attempt has ended.
func (o *slot) release(b *payload) {
	o.of.mu.Lock()
	defer o.of.mu.Unlock()
	o.record.held -= b.bytes
	if b.users--; b.users == 0 {
		o.of.held -= b.bytes
	}
}
